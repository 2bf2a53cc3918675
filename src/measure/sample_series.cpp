// SPDX-License-Identifier: MIT
#include "measure/sample_series.hpp"

#include <algorithm>
#include <cmath>

#include "base/statistics.hpp"

namespace hiptool::measure {
namespace {

constexpr double stable_within = 0.05;

void warm_up(const SamplingOptions& options, const std::function<double()>& sample,
             const SamplingClock& clock) {
  const bool has_least = options.least_warm_up_s > 0;
  const auto start = has_least ? clock() : std::chrono::steady_clock::time_point();
  const auto is_too_short = [&] {
    return has_least &&
           std::chrono::duration<double>(clock() - start).count() < options.least_warm_up_s;
  };
  double previous = 0;
  for (std::size_t i = 0; i < options.most_warm_ups || is_too_short(); ++i) {
    const double current = sample();
    if (i > 0 && !is_too_short() && std::abs(current - previous) <= stable_within * previous)
      return;
    previous = current;
  }
}

}  // namespace

std::vector<double> collect_samples(const SamplingOptions& options,
                                    const std::function<double()>& sample,
                                    const SamplingClock& clock) {
  warm_up(options, sample, clock);
  const auto start = clock();
  const auto elapsed_s = [&] { return std::chrono::duration<double>(clock() - start).count(); };
  std::vector<double> samples;
  const std::size_t most = std::max(options.least_samples, options.most_samples);
  while (samples.size() < most) {
    samples.push_back(sample());
    if (samples.size() < options.least_samples) continue;
    if (elapsed_s() >= options.time_budget_s) break;
    // The noise of one sample is unknown.
    if (samples.size() > 1 &&
        base::summarize(samples).relative_standard_error <= options.noise_target) {
      break;
    }
  }
  return samples;
}

std::vector<double> samples_until_cancelled(std::vector<double> seen) {
  if (seen.size() > 1) seen.erase(seen.begin());
  return seen;
}

}  // namespace hiptool::measure
