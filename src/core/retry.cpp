// SPDX-License-Identifier: MIT
#include "hiptool/retry.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace hiptool {

double retry_delay_s(const RetryPolicy& policy, int retry) noexcept {
  constexpr double longest_delay_s = 1;
  constexpr double longest_first_s = 1e6;
  if (!(policy.first_delay_s > 0)) return 0;  // no number, too
  const double first_s = std::min(policy.first_delay_s, longest_first_s);
  return std::min(std::ldexp(first_s, retry), std::max(first_s, longest_delay_s));
}

void wait_for_retry(const Error& error, const RetryPolicy& policy, int retry) {
  if (!error.is_recoverable() || retry >= policy.max_retries) throw error;
  using Clock = std::chrono::steady_clock;
  constexpr Clock::duration longest_sleep = std::chrono::milliseconds(10);
  const std::chrono::duration<double> delay(retry_delay_s(policy, retry));
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(delay);
  for (auto now = Clock::now(); now < until; now = Clock::now()) {
    std::this_thread::sleep_for(std::min(until - now, longest_sleep));
    if (policy.cancel) policy.cancel->get().throw_if_cancelled("retry");
  }
  if (policy.cancel) policy.cancel->get().throw_if_cancelled("retry");
  if (policy.before_retry) policy.before_retry(error);
}

}  // namespace hiptool
