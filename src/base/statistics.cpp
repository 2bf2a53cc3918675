// SPDX-License-Identifier: MIT
#include "base/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace hiptool::base {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
constexpr int resamples = 2000;

double quantile_of_sorted(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return unknown;
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

std::vector<double> sorted_copy(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

double resampled_median(std::span<const double> samples, std::vector<double>& space,
                        std::mt19937_64& random) {
  // Not uniform_int_distribution: its results differ between standard libraries.
  for (double& value : space) value = samples[random() % samples.size()];
  std::sort(space.begin(), space.end());
  return quantile_of_sorted(space, 0.5);
}

}  // namespace

double quantile(std::span<const double> samples, double share) {
  return quantile_of_sorted(sorted_copy(samples), share);
}

Summary summarize(std::span<const double> samples) {
  if (samples.empty()) {
    return {0, unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown};
  }
  const std::vector<double> sorted = sorted_copy(samples);
  const auto count = static_cast<double>(sorted.size());
  Summary summary;
  summary.count = sorted.size();
  summary.median = quantile_of_sorted(sorted, 0.5);
  summary.min = sorted.front();
  summary.max = sorted.back();
  summary.p05 = quantile_of_sorted(sorted, 0.05);
  summary.p95 = quantile_of_sorted(sorted, 0.95);
  summary.mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / count;
  double squares = 0;
  for (const double value : sorted) squares += (value - summary.mean) * (value - summary.mean);
  summary.deviation = sorted.size() > 1 ? std::sqrt(squares / (count - 1)) : 0;
  summary.variation = summary.deviation / summary.mean;
  summary.relative_standard_error = summary.variation / std::sqrt(count);
  return summary;
}

Interval median_change(std::span<const double> before, std::span<const double> after) {
  if (before.empty() || after.empty()) return {unknown, unknown};
  std::mt19937_64 random(1);
  std::vector<double> space_before(before.size());
  std::vector<double> space_after(after.size());
  std::vector<double> changes(resamples);
  for (double& change : changes) {
    const double old_median = resampled_median(before, space_before, random);
    change = resampled_median(after, space_after, random) / old_median - 1;
  }
  std::sort(changes.begin(), changes.end());
  return {quantile_of_sorted(changes, 0.025), quantile_of_sorted(changes, 0.975)};
}

Comparison compare_times(std::span<const double> before, std::span<const double> after,
                         double effect) {
  Comparison comparison;
  comparison.change = median(after) / median(before) - 1;
  comparison.interval = median_change(before, after);
  if (std::min(before.size(), after.size()) < least_compared_samples) return comparison;
  const auto [low, high] = comparison.interval;
  if (low >= -effect && high <= effect) {
    comparison.verdict = Verdict::same;
  } else if (low > effect) {
    comparison.verdict = Verdict::slower;
  } else if (high < -effect) {
    comparison.verdict = Verdict::faster;
  }
  return comparison;
}

std::vector<double> modified_z_scores(std::span<const double> values, double floor) {
  const double middle = median(values);
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::abs(value - middle));
  const double spread = std::max(median(distances), floor * std::abs(middle));
  std::vector<double> scores;
  for (const double value : values) {
    scores.push_back(spread > 0 ? 0.6745 * (value - middle) / spread : 0);
  }
  return scores;
}

}  // namespace hiptool::base
