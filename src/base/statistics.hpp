// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace hiptool::base {

/// The value below which that share (0 to 1) of the samples is, linear between neighbours
/// (Hyndman and Fan 1996, definition 7, as numpy does it). NaN without samples.
double quantile(std::span<const double> samples, double share);

inline double median(std::span<const double> samples) { return quantile(samples, 0.5); }

/// Statistics of a list of samples. All NaN without samples.
struct Summary {
  std::size_t count = 0;
  double median = 0;
  double min = 0;
  double max = 0;
  double p05 = 0;
  double p95 = 0;
  double mean = 0;
  double deviation = 0;                ///< standard deviation of the sample (n - 1); 0 for one
  double variation = 0;                ///< deviation / mean: the coefficient of variation
  double relative_standard_error = 0;  ///< variation / sqrt(count)
};

Summary summarize(std::span<const double> samples);

struct Interval {
  double low = 0;
  double high = 0;
};

/// The interval that holds the relative change of the median from `before` to `after`
/// (0.1: 10 % more) with 95 % confidence: percentile bootstrap (Efron 1979) with a fixed seed, so
/// equal input gives equal output. NaN when a side has no samples.
Interval median_change(std::span<const double> before, std::span<const double> after);

enum class Verdict { same, faster, slower, ambiguous };

struct Comparison {
  Verdict verdict = Verdict::ambiguous;
  double change = 0;  ///< of the median time, 0.1: takes 10 % longer
  Interval interval;
};

/// Fewer samples than this on a side are never enough for a verdict.
inline constexpr std::size_t least_compared_samples = 9;
/// Smaller relative changes, in either direction, are ignored.
inline constexpr double least_effect = 0.03;

/// Compares times (less is faster). SAME: the interval of the change is within the ignored changes;
/// FASTER or SLOWER: it is outside; else AMBIGUOUS.
Comparison compare_times(std::span<const double> before, std::span<const double> after,
                         Interval ignored = {-least_effect, least_effect});

/// 0.6745 (x - median) / MAD for each value (Iglewicz and Hoaglin 1993). The MAD is at least
/// `floor` times the median, so that equal values do not turn noise into outliers.
std::vector<double> modified_z_scores(std::span<const double> values, double floor = 1e-3);

/// For each of several that should be equally fast, the speed that it should have if it is slow:
/// the median of the others, of two in the middle the lower one, so that one fast outlier makes
/// nobody slow. It is slow if its speed is more than `spread` (0.05: 5 %) below that, the best
/// speed of its samples does not reach that, and, among five or more, its modified z score is below
/// -3.5.
std::vector<std::optional<double>> find_slow(std::span<const double> speeds,
                                             std::span<const double> best_speeds, double spread);

}  // namespace hiptool::base
