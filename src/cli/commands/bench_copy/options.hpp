// SPDX-License-Identifier: MIT
/// The words of `hiptool bench-copy` and what they ask for.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/copy/plan.hpp"
#include "measure/sampling.hpp"

namespace hiptool::cli {

struct BenchCopyOptions {
  std::string kinds;
  std::string memories;
  std::string engines;
  std::string sizes;
  std::vector<std::string> testcases;
  std::optional<std::string> preset;
  std::uint64_t samples = 0;  ///< 0: as many as it takes
  std::string time;           ///< seconds; empty: the preset's
  std::vector<std::string> thresholds;
  std::string retry;
  std::string baseline;
  bool strict_baseline = false;
};

/// What to measure, before it is known on what.
struct BenchCopyRequest {
  std::vector<measure::CopyTemplate> templates;
  std::vector<measure::HostKind> memories;
  std::vector<std::uint64_t> sizes;  ///< empty: as suits the device
  bool allows_managed = false;
  bool drops_conflicts = false;  ///< a preset: what never goes together is left out
  bool is_ci = false;
  bool is_full = false;
  measure::SamplingOptions sampling;

  /// Something needs two devices, so all of the platform are taken where none is named.
  bool wants_all_devices() const;
};

/// Throws Error(invalid_argument) for words that make no sense, alone or together.
BenchCopyRequest parse_bench_copy(const BenchCopyOptions& options);

/// The measurements on these devices.
std::vector<measure::PlannedCopy> plan_bench_copy(const BenchCopyRequest& request,
                                                  const std::vector<Device>& devices,
                                                  const std::vector<measure::HostNode>& nodes);

}  // namespace hiptool::cli
