// SPDX-License-Identifier: MIT
/// Which kernels are good enough. A selector is the name of a kernel or a group, and after it in
/// any order what a result has to fit: a type ("f32"), a size in any form that --size takes, a
/// device
/// ("nvidia:0").
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/kernel/bench.hpp"
#include "measure/threshold.hpp"

namespace hiptool::measure {

/// Throws Error(invalid_argument) for a threshold that names nothing that these options will run:
/// no kernel or type of theirs, no size of theirs. Devices need not be known yet.
void require_named(const std::vector<Threshold>& thresholds, const KernelBenchOptions& options);

/// Compares all results that a threshold names. One that was skipped misses it as well. Throws
/// Error(invalid_argument) where the threshold names no result that was measured, or a share that a
/// result does not have.
report::ThresholdResult judge_threshold(const Threshold& threshold,
                                        std::span<const KernelResult> results);

}  // namespace hiptool::measure
