// SPDX-License-Identifier: MIT
#include "base/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <utility>

namespace hiptool::base {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t resamples = 2000;

double quantile_of_sorted(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return unknown;
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  if (sorted[below] == sorted[above]) return sorted[below];  // also between infinities
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

std::vector<double> sorted_copy(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  return sorted;
}

// Places among sorted samples of the two in the middle of a resample; the same one for odd counts.
struct Middle {
  std::size_t below;
  std::size_t above;
};
using Middles = std::vector<Middle>;

Middles draw_middles(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::size_t> places(count);
  Middles middles;
  for (std::size_t i = 0; i < resamples; ++i) {
    // Not uniform_int_distribution: its results differ between standard libraries.
    for (std::size_t& place : places) place = static_cast<std::size_t>(random() % count);
    const auto above = places.begin() + static_cast<std::ptrdiff_t>(count / 2);
    std::nth_element(places.begin(), above, places.end());
    const bool is_odd = count % 2 == 1;
    middles.push_back({is_odd ? *above : *std::max_element(places.begin(), above), *above});
  }
  return middles;
}

// Draws depend only on count and seed, so lists of one length, of which reports have many, share
// them; without that, drawing takes nearly all the time of a comparison.
std::shared_ptr<const Middles> shared_middles(std::size_t count, std::uint64_t seed) {
  constexpr std::size_t most_known = 128;  // 32 KB each
  thread_local std::map<std::pair<std::size_t, std::uint64_t>, std::shared_ptr<const Middles>>
      known;
  const auto found = known.find({count, seed});
  if (found != known.end()) return found->second;
  auto drawn = std::make_shared<const Middles>(draw_middles(count, seed));
  if (known.size() < most_known) known.emplace(std::pair(count, seed), drawn);
  return drawn;
}

double median_at(const std::vector<double>& sorted, const Middle& middle) {
  return middle.below == middle.above ? sorted[middle.above]
                                      : std::midpoint(sorted[middle.below], sorted[middle.above]);
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
  const auto middles_before = shared_middles(before.size(), 1);
  const auto middles_after = shared_middles(after.size(), 2);
  const std::vector<double> sorted_before = sorted_copy(before);
  const std::vector<double> sorted_after = sorted_copy(after);
  std::vector<double> changes;
  changes.reserve(resamples);
  for (std::size_t i = 0; i < resamples; ++i) {
    changes.push_back(median_at(sorted_after, (*middles_after)[i]) /
                          median_at(sorted_before, (*middles_before)[i]) -
                      1);
  }
  std::ranges::sort(changes);
  return {quantile_of_sorted(changes, 0.025), quantile_of_sorted(changes, 0.975)};
}

Comparison compare_times(std::span<const double> before, std::span<const double> after,
                         Interval ignored) {
  Comparison comparison;
  comparison.change = median(after) / median(before) - 1;
  comparison.interval = median_change(before, after);
  if (std::min(before.size(), after.size()) < least_compared_samples) return comparison;
  const auto [low, high] = comparison.interval;
  if (low >= ignored.low && high <= ignored.high) {
    comparison.verdict = Verdict::same;
  } else if (low > ignored.high) {
    comparison.verdict = Verdict::slower;
  } else if (high < ignored.low) {
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

std::vector<std::optional<double>> find_slow(std::span<const double> speeds,
                                             std::span<const double> best_speeds, double spread) {
  constexpr double least_z = -3.5;
  constexpr std::size_t least_for_z = 5;
  std::vector<std::optional<double>> usual(speeds.size());
  if (speeds.size() < 2) return usual;
  std::vector<double> sorted(speeds.begin(), speeds.end());
  std::ranges::sort(sorted);
  const std::vector<double> scores = modified_z_scores(speeds);
  const std::size_t middle = (speeds.size() - 2) / 2;  // of the others
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    const double others = speeds[i] <= sorted[middle] ? sorted[middle + 1] : sorted[middle];
    const bool is_far = speeds[i] < (1 - spread) * others && best_speeds[i] < others;
    if (is_far && (speeds.size() < least_for_z || scores[i] < least_z)) usual[i] = others;
  }
  return usual;
}

}  // namespace hiptool::base
