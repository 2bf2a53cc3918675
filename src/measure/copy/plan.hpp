// SPDX-License-Identifier: MIT
/// Which measurements a bench measures.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "measure/copy/host_nodes.hpp"
#include "measure/copy/spec.hpp"

namespace hiptool::measure {

/// Size of the copies whose latency is measured: a page, the smallest that people ask about.
inline constexpr std::uint64_t latency_bytes = 4096;
/// Above it the pattern's indices would not fit 32 bits.
inline constexpr std::uint64_t most_copy_bytes = std::uint64_t{8} << 30;

/// What is measured, still without memory, size and devices.
struct CopyTemplate {
  CopyKind kind = CopyKind::h2d;
  CopyEngine engine = CopyEngine::copy;
  bool reads = false;
  bool is_latency = false;
  bool over_all = false;  ///< bidir on all devices at once
};

struct CopyRequest {
  std::vector<Device> devices;
  std::vector<CopyTemplate> templates;
  std::vector<HostKind> memories;
  std::vector<std::uint64_t> sizes;  ///< not for latency
  std::vector<HostNode> nodes;       ///< empty: host memory comes from wherever it comes from
  bool allows_managed = false;       ///< on GPUs too
};

struct PlannedCopy {
  CopySpec spec;
  std::string skip_reason;  ///< empty: it can be measured
};

/// The measurements of a request, those that make no sense here with the reason. Calls no runtime.
std::vector<PlannedCopy> plan_copies(const CopyRequest& request);

/// Why this kind, memory and engine never go together; empty if they do.
std::string conflict_of(CopyKind kind, std::optional<HostKind> memory, CopyEngine engine);

/// All names that are known, in nvbandwidth's order (its version 0.8).
std::vector<std::string> testcase_names();

/// What measures the same here; empty for an unknown name. nvbandwidth prints one direction of its
/// bidirectional cases and times a chase of pointers for latency: here both directions are printed,
/// and latency is that of one small copy.
std::vector<CopyTemplate> testcase_templates(std::string_view name);

}  // namespace hiptool::measure
