// SPDX-License-Identifier: MIT
/// The copies that bench-copy measures.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "measure/copy/host_nodes.hpp"
#include "measure/copy/spec.hpp"

namespace hiptool::measure {

/// Size of the copies whose latency is measured: a page.
inline constexpr std::uint64_t latency_bytes = 4096;
/// The pattern's indices of a larger copy would not fit in 32 bits.
inline constexpr std::uint64_t most_copy_bytes = std::uint64_t{8} << 30;

/// A copy without memory, size and devices.
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
  std::vector<HostNode> nodes;       ///< empty: host memory is not bound to a node
  bool allows_managed = false;       ///< on GPUs too
};

struct PlannedCopy {
  CopySpec spec;
  std::string skip_reason;  ///< empty: it can be measured
};

/// The copies of a request; impossible ones have a reason to skip them. Calls no runtime.
std::vector<PlannedCopy> plan_copies(const CopyRequest& request);

/// Why this kind, memory and engine cannot be combined; empty if they can.
std::string conflict_of(CopyKind kind, std::optional<HostKind> memory, CopyEngine engine);

/// All supported names, in the order of nvbandwidth 0.8.
std::vector<std::string> testcase_names();

/// The templates that measure the same; empty for an unknown name. nvbandwidth prints one direction
/// of its bidirectional cases and times a chain of loads for latency; here both directions are
/// printed, and latency is that of one small copy.
std::vector<CopyTemplate> testcase_templates(std::string_view name);

}  // namespace hiptool::measure
