// SPDX-License-Identifier: MIT
#include "hiptool/retry.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace hiptool {
namespace {

constexpr double longest_sleep_s = 0.01;  // between two looks at the cancel token

void throw_if_cancelled(const RetryPolicy& policy) {
  if (policy.cancel != nullptr) policy.cancel->throw_if_cancelled("retry");
}

}  // namespace

RetryDelays::RetryDelays(const RetryPolicy& policy)
    : policy_(policy), delay_s_(std::min(policy.first_delay_s, policy.longest_delay_s)) {
  throw_if_cancelled(policy_);
}

void RetryDelays::wait_or_throw(const Error& error) {
  if (!error.is_recoverable() || retries_ >= policy_.max_retries) throw error;
  ++retries_;
  wait(delay_s_);
  delay_s_ = std::min(delay_s_ * policy_.factor, policy_.longest_delay_s);
  throw_if_cancelled(policy_);
  if (policy_.before_retry) policy_.before_retry(error);
}

void RetryDelays::wait(double duration_s) const {
  if (policy_.sleep) {
    policy_.sleep(duration_s);
    return;
  }
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(duration_s));
  const auto step =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(longest_sleep_s));
  for (auto now = Clock::now(); now < until; now = Clock::now()) {
    std::this_thread::sleep_for(std::min<Clock::duration>(until - now, step));
    throw_if_cancelled(policy_);
  }
}

}  // namespace hiptool
