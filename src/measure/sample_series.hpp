// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

namespace hiptool::measure {

/// When to stop sampling.
struct SamplingOptions {
  std::size_t least_samples = 9;  ///< fewer are too few for a comparison
  std::size_t most_samples = 1000;
  double noise_target = 0.005;    ///< relative standard error at which sampling ends
  double time_budget_s = 0.5;     ///< of one series, warm-up not counted; least_samples come first
  std::size_t most_warm_ups = 5;  ///< fewer if two in a row are within 5 %
  /// So long at least, whatever their number: the clocks of a GPU that was idle rise meanwhile.
  double least_warm_up_s = 0;
};

using SamplingClock = std::function<std::chrono::steady_clock::time_point()>;

/// Calls `sample`, which returns the seconds that one run took, until the noise or the time target
/// is met, and returns every sample after the warm-up. `clock` is for tests.
std::vector<double> collect_samples(const SamplingOptions& options,
                                    const std::function<double()>& sample,
                                    const SamplingClock& clock = std::chrono::steady_clock::now);

/// The samples of a series that `seen` has the calls of, where `sample` threw Error(cancelled): all
/// but the first, which warmed up, unless it is the only one.
std::vector<double> samples_until_cancelled(std::vector<double> seen);

}  // namespace hiptool::measure
