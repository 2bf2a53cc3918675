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

/// A result that misses a threshold.
struct MissedResult {
  std::string id;
  double least = 0;                ///< in the unit of the threshold: a share or a rate
  std::optional<double> measured;  ///< absent: it has no such figure
  std::string text;                ///< "sum.f32.1GiB on nvidia:0: 40 %, below 80 %"
};

/// The results that miss a threshold; none: it is met. A result that was skipped cannot be judged
/// and is named as well. Throws Error(invalid_argument) where the threshold names no result that
/// was measured, or a share that a result does not have.
std::vector<MissedResult> judge_threshold(const Threshold& threshold,
                                          std::span<const KernelResult> results);

/// Their texts in one line; empty for none.
std::string missed_text(const std::vector<MissedResult>& missed);

}  // namespace hiptool::measure
