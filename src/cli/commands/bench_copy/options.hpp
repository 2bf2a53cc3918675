// SPDX-License-Identifier: MIT
/// The options of `hiptool bench-copy`, and the measurements they request.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/compare_options.hpp"
#include "cli/repeat.hpp"
#include "measure/copy/plan.hpp"
#include "measure/sample_series.hpp"

namespace hiptool::cli {

struct BenchCopyOptions {
  std::string kinds;
  std::string memories;
  std::string engines;
  std::string sizes;
  std::vector<std::string> testcases;
  std::optional<std::string> preset;
  std::uint64_t samples = 0;  ///< 0: as many as the noise requires
  std::string time;           ///< seconds; empty: the preset's
  std::vector<std::string> thresholds;
  std::string retry;
  std::string baseline;
  bool strict_baseline = false;
  CompareOptions compare;
  RepeatOptions repeat;
};

/// The requested measurements, before the devices are known.
struct BenchCopyRequest {
  std::vector<measure::CopyTemplate> templates;
  std::vector<measure::HostKind> memories;
  std::vector<std::uint64_t> sizes;  ///< empty: the default of the device
  bool allows_managed = false;
  bool drops_conflicts = false;  ///< a preset: combinations that cannot work are left out
  bool is_ci = false;
  bool is_full = false;
  bool is_steady = false;  ///< test cases: samples as nvbandwidth takes them
  measure::SamplingOptions sampling;

  /// A measurement needs two devices, so all of the platform are used unless some are named.
  bool wants_all_devices() const;
};

/// Throws Error(invalid_argument) for invalid values and combinations.
BenchCopyRequest parse_bench_copy(const BenchCopyOptions& options);

/// The measurements on these devices.
std::vector<measure::PlannedCopy> plan_bench_copy(const BenchCopyRequest& request,
                                                  const std::vector<Device>& devices,
                                                  const std::vector<measure::HostNode>& nodes);

}  // namespace hiptool::cli
