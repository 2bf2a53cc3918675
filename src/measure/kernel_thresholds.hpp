// SPDX-License-Identifier: MIT
/// Thresholds of kernels. A selector is the name of a kernel or group, followed in any order by a
/// type ("f32"), a size in any form that --size takes, and a device ("nvidia:0").
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/kernel_bench.hpp"
#include "measure/threshold.hpp"

namespace hiptool::measure {

/// Throws Error(invalid_argument) for a threshold whose kernel, type or size these options do not
/// run. Devices need not be known yet.
void require_named(const std::vector<Threshold>& thresholds, const KernelBenchOptions& options);

/// Compares all results that a threshold selects; a skipped one misses it. Throws
/// Error(invalid_argument) if the threshold selects no result that was measured, or is a share and
/// a result has none.
report::ThresholdResult judge_threshold(const Threshold& threshold,
                                        std::span<const KernelResult> results);

}  // namespace hiptool::measure
