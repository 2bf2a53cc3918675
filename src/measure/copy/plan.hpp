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
/// Size of the memory whose latency is measured, as in nvbandwidth (nvbandwidth.cpp, "fixd-size
/// buffer for latency tests").
inline constexpr std::uint64_t chase_bytes = std::uint64_t{2} << 20;
/// The pattern's indices of a larger copy would not fit in 32 bits.
inline constexpr std::uint64_t most_copy_bytes = std::uint64_t{8} << 30;

/// A copy without memory, size and devices.
struct CopyTemplate {
  CopyKind kind = CopyKind::h2d;
  CopyEngine engine = CopyEngine::copy;
  bool reads = false;
  bool is_latency = false;
  Beside beside = Beside::nothing;
  bool sums_copies = false;
  bool is_chase = false;
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

/// Whether it needs more than one device, so that all are taken where none is named.
bool wants_several(const CopyTemplate& what);

/// Why this kind, memory and engine cannot be combined; empty if they can.
std::string conflict_of(CopyKind kind, std::optional<HostKind> memory, CopyEngine engine);

/// All supported names, in the order of nvbandwidth 0.8.
std::vector<std::string> testcase_names();

/// The templates that measure the same quantity; empty for an unknown name. docs/benchmarks.md has
/// a table of what each measures, and of what differs.
std::vector<CopyTemplate> testcase_templates(std::string_view name);

}  // namespace hiptool::measure
