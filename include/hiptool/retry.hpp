// SPDX-License-Identifier: MIT
#pragma once
#include <functional>

#include "hiptool/cancel.hpp"
#include "hiptool/error.hpp"
#include "hiptool/export.hpp"

namespace hiptool {

/// How often and after which delays a call is tried again. The defaults wait 10, 20 and 40 ms: long
/// enough for another process to give memory back, short enough to go unnoticed where it does not.
struct RetryPolicy {
  int max_retries = 3;          ///< calls after the first one; 0 or less: none
  double first_delay_s = 0.01;  ///< before the first retry
  double factor = 2;            ///< each delay is the one before times this
  double longest_delay_s = 1;
  /// Called after a delay, right before the next call, with the failure: the place to release
  /// caches. What it throws ends the retries.
  std::function<void(const Error&)> before_retry;
  /// Waits instead of the built-in wait; gets the seconds. For tests.
  std::function<void(double)> sleep;
  /// Looked at before each call and about every 10 ms of a delay: Error(cancelled). May be null.
  const CancelToken* cancel = nullptr;
};

/// The delays of one retried call; for retry().
class HIPTOOL_API RetryDelays {
 public:
  /// The policy must outlive this object. Throws Error(cancelled) if that was asked for.
  explicit RetryDelays(const RetryPolicy& policy);

  /// Waits until the next call is due, or throws the error again: when it is not recoverable
  /// (Error::is_recoverable()) or no retries are left. Throws Error(cancelled).
  void wait_or_throw(const Error& error);

 private:
  void wait(double duration_s) const;

  const RetryPolicy& policy_;
  int retries_ = 0;
  double delay_s_;
};

/// Calls the function and returns what it returns. While it throws an Error that is recoverable it
/// is called again, up to policy.max_retries times; the last failure is thrown on. Other exceptions
/// pass at once. Blocks for the delays.
template <class Function>
decltype(auto) retry(Function&& function, const RetryPolicy& policy = {}) {
  RetryDelays delays(policy);
  for (;;) {
    try {
      return function();
    } catch (const Error& error) {
      delays.wait_or_throw(error);
    }
  }
}

}  // namespace hiptool
