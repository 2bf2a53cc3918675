// SPDX-License-Identifier: MIT
/// Times of one measurement in several processes, whose noise decides how small a change can be
/// found.
#pragma once
#include <cstddef>
#include <optional>
#include <span>

#include "base/statistics.hpp"

namespace hiptool::base {

/// The value below which Student's t of that many degrees of freedom is with that probability:
/// 2.2281 for 0.975 and 10. The degrees are positive and need not be whole. The distribution is
/// that of Abramowitz and Stegun 26.7.1 by the incomplete beta function, for which the continued
/// fraction of DLMF 8.17.22 is computed; accurate to 1e-9.
double student_t_quantile(double probability, double degrees);

/// What the median times of processes say about a change of the time.
struct ProcessComparison {
  Comparison times;
  Interval ignored;  ///< changes of the time that mean nothing
  /// The smallest effect that noise as measured can decide: of two equal programs the interval is
  /// within it in 95 % of cases. Simulated with noise of 0.5 %, twice the change is found in 96 %
  /// of cases with 16 processes on each side, in 73 % with 3. Of alternating ones at least
  /// least_auto_effect.
  double decidable_effect = 0;
  /// Processes on each side that would decide if noise and change stay as measured; absent where
  /// the verdict is not ambiguous, and for more than most_repeats.
  std::optional<std::size_t> repeats_to_decide;
};

/// More are not worth proposing.
inline constexpr std::size_t most_repeats = 1000;

/// How the processes of both sides ran.
enum class ProcessOrder {
  apart,       ///< one side after the other: what drifts meanwhile is taken for a change
  alternating  ///< old, new, new, old, so that a drift meets both alike
};

/// Smaller changes are never SLOWER or FASTER, however little noise there is.
inline constexpr double least_auto_effect = 0.005;

/// Compares the median times of processes, at least one on each side and two on one. The samples
/// are their logarithms, so that a change is a factor. The interval of the change is Welch's with
/// 95 % confidence (Welch 1947, "The generalization of 'Student's' problem when several different
/// population variances are involved", Biometrika 34; degrees of freedom by Satterthwaite 1946),
/// and where one side is a single process, it is taken to be as noisy as the other side. The noise
/// of samples within a process is part of that of its median. SAME: the interval is within the
/// ignored changes; FASTER or SLOWER: it is outside; else AMBIGUOUS. Without `ignored` the
/// decidable effect is ignored, either way; of alternating processes the change is SLOWER or FASTER
/// if it is above least_auto_effect and the interval with 99 % confidence is on that side of none:
/// of equal programs in 1 of 200 comparisons each.
ProcessComparison compare_processes(std::span<const double> medians_before,
                                    std::span<const double> medians_after,
                                    const std::optional<Interval>& ignored,
                                    ProcessOrder order = ProcessOrder::apart);

}  // namespace hiptool::base
