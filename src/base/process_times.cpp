// SPDX-License-Identifier: MIT
#include "base/process_times.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace hiptool::base {
namespace {

constexpr double confidence_point = 0.975;  // of 95 % in the middle
constexpr double strict_point = 0.995;      // of 99 %

// The continued fraction of DLMF 8.17.22, from its tail: it converges fast for x below
// (a + 1) / (a + b + 2).
double beta_fraction(double x, double a, double b) {
  constexpr int terms = 400;
  double value = 1;
  for (int i = terms; i > 0; --i) {
    const int m = i / 2;
    const double down = (a + i - 1) * (a + i);
    const double term = i % 2 == 0 ? m * (b - m) * x / down : -(a + m) * (a + b + m) * x / down;
    value = 1 + term / value;
  }
  return 1 / value;
}

// The regularised incomplete beta function I_x(a, b).
double incomplete_beta(double x, double a, double b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incomplete_beta(1 - x, b, a);
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  return front * beta_fraction(x, a, b) / a;
}

// The probability that t is above a value that is not negative.
double tail_of_t(double value, double degrees) {
  return incomplete_beta(degrees / (degrees + value * value), degrees / 2, 0.5) / 2;
}

std::vector<double> logarithms(std::span<const double> times) {
  std::vector<double> logs;
  logs.reserve(times.size());
  for (const double time : times) logs.push_back(std::log(time));
  return logs;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double variance_of(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return squares / static_cast<double>(values.size() - 1);
}

// The standard error of a difference of means, and what it is known by.
struct Noise {
  double error = 0;
  double degrees = 1;
  double deviation = 0;  // of one process
};

Noise noise_of(const std::vector<double>& before, const std::vector<double>& after) {
  const auto count_before = static_cast<double>(before.size());
  const auto count_after = static_cast<double>(after.size());
  double variance_before = variance_of(before);
  double variance_after = variance_of(after);
  if (before.size() < 2) variance_before = variance_after;
  if (after.size() < 2) variance_after = variance_before;
  const double part_before = variance_before / count_before;
  const double part_after = variance_after / count_after;
  Noise noise;
  noise.error = std::sqrt(part_before + part_after);
  noise.deviation = std::sqrt((variance_before + variance_after) / 2);
  if (before.size() < 2 || after.size() < 2) {
    noise.degrees = std::max(count_before, count_after) - 1;
  } else if (noise.error > 0) {
    noise.degrees = (part_before + part_after) * (part_before + part_after) /
                    (part_before * part_before / (count_before - 1) +
                     part_after * part_after / (count_after - 1));
  } else {
    noise.degrees = count_before + count_after - 2;
  }
  return noise;
}

double half_width(std::size_t processes, double deviation) {
  const auto count = static_cast<double>(processes);
  return student_t_quantile(confidence_point, 2 * count - 2) * deviation * std::sqrt(2 / count);
}

// The least number of processes on each side whose interval is narrower than that half width.
std::optional<std::size_t> repeats_for(double wanted_half_width, double deviation,
                                       std::size_t more_than) {
  for (std::size_t count = std::max<std::size_t>(more_than + 1, 2); count <= most_repeats;
       ++count) {
    if (half_width(count, deviation) < wanted_half_width) return count;
  }
  return std::nullopt;
}

Verdict verdict_of(const Interval& change, const Interval& ignored) {
  if (change.low >= ignored.low && change.high <= ignored.high) return Verdict::same;
  if (change.low > ignored.high) return Verdict::slower;
  if (change.high < ignored.low) return Verdict::faster;
  return Verdict::ambiguous;
}

// What alternating processes decide by themselves; `half` is half of the interval's width.
void decide_alternating(double shift, double half, double strict_half, ProcessComparison& result) {
  const double least = std::log1p(least_auto_effect);
  const double edge = std::max(strict_half, least);
  if (std::abs(shift) > edge) {
    result.times.verdict = shift > 0 ? Verdict::slower : Verdict::faster;
    result.ignored = {std::expm1(-edge), std::expm1(edge)};
    return;
  }
  const double same = half + std::max(half, least);
  result.ignored = {std::expm1(-same), std::expm1(same)};
  result.times.verdict = verdict_of(result.times.interval, result.ignored);
}

}  // namespace

double student_t_quantile(double probability, double degrees) {
  if (!(probability > 0) || !(probability < 1) || !(degrees > 0)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (probability < 0.5) return -student_t_quantile(1 - probability, degrees);
  const double tail = 1 - probability;
  double low = 0;
  double high = 1;
  while (tail_of_t(high, degrees) > tail) high *= 2;
  for (int i = 0; i < 100 && high - low > 1e-12 * high; ++i) {
    const double middle = std::midpoint(low, high);
    (tail_of_t(middle, degrees) > tail ? low : high) = middle;
  }
  return std::midpoint(low, high);
}

ProcessComparison compare_processes(std::span<const double> medians_before,
                                    std::span<const double> medians_after,
                                    const std::optional<Interval>& ignored, ProcessOrder order) {
  const std::vector<double> before = logarithms(medians_before);
  const std::vector<double> after = logarithms(medians_after);
  const double shift = mean_of(after) - mean_of(before);
  const Noise noise = noise_of(before, after);
  const double half = student_t_quantile(confidence_point, noise.degrees) * noise.error;
  ProcessComparison result;
  result.times.change = std::expm1(shift);
  result.times.interval = {std::expm1(shift - half), std::expm1(shift + half)};
  result.decidable_effect = std::expm1(2 * half);
  result.ignored = ignored.value_or(Interval{std::expm1(-2 * half), result.decidable_effect});
  result.times.verdict = verdict_of(result.times.interval, result.ignored);
  const bool is_alternating = !ignored && order == ProcessOrder::alternating;
  const double strict_half = student_t_quantile(strict_point, noise.degrees) * noise.error;
  if (is_alternating) {
    result.decidable_effect = std::max(result.decidable_effect, least_auto_effect);
    decide_alternating(shift, half, strict_half, result);
  }
  if (result.times.verdict != Verdict::ambiguous) return result;
  // Without an effect the interval has to be a third of the change, or end before none with 99 %
  // confidence; with one it may not reach the nearer edge, and log(1 + e) is nearer than log(1 -
  // e).
  const double most = is_alternating ? std::abs(shift) * half / strict_half : std::abs(shift) / 3;
  const double wanted = ignored ? std::min(std::abs(shift - std::log1p(result.ignored.high)),
                                           std::abs(shift - std::log1p(result.ignored.low)))
                                : most;
  result.repeats_to_decide =
      repeats_for(wanted, noise.deviation, std::min(before.size(), after.size()));
  return result;
}

}  // namespace hiptool::base
