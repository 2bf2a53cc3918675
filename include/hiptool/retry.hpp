// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <optional>

#include "hiptool/cancel.hpp"
#include "hiptool/error.hpp"
#include "hiptool/export.hpp"

namespace hiptool {

/// How often and after which delays a call is tried again. The defaults wait 10, 20 and 40 ms: long
/// enough for another process to give memory back, short enough to go unnoticed where it does not.
struct RetryPolicy {
  int max_retries = 3;          ///< calls after the first one; 0 or less: none
  double first_delay_s = 0.01;  ///< before the first retry; each later delay is twice as long
  /// Called after a delay, right before the next call, with the failure: the place to release
  /// caches. An exception from it ends the retries.
  std::function<void(const Error&)> before_retry;
  /// Checked before each call and about every 10 ms of a delay: Error(cancelled). Must outlive the
  /// calls.
  std::optional<std::reference_wrapper<const CancelToken>> cancel;
};

/// Seconds before that retry, counted from 0: twice the delay before it, up to 1 s. A first delay
/// that is negative or no number counts as 0, one above 10^6 s as 10^6 s.
[[nodiscard]] HIPTOOL_API double retry_delay_s(const RetryPolicy& policy, int retry) noexcept;

/// Waits until that retry is due. Throws the error again when it is not recoverable
/// (Error::is_recoverable()) or no retries are left, and Error(cancelled).
HIPTOOL_API void wait_for_retry(const Error& error, const RetryPolicy& policy, int retry);

/// Calls the function and returns its result. While it throws an Error that is recoverable it is
/// called again, up to policy.max_retries times; the last failure is thrown on. Other exceptions
/// pass at once. Blocks for the delays.
template <class Function>
decltype(auto) with_retry(Function&& function, const RetryPolicy& policy = {}) {
  if (policy.cancel) policy.cancel->get().throw_if_cancelled("retry");
  for (int retry = 0;; ++retry) {
    try {
      return function();
    } catch (const Error& error) {
      wait_for_retry(error, policy, retry);
    }
  }
}

}  // namespace hiptool
