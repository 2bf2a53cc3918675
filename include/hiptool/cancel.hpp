// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>

#include "hiptool/export.hpp"

namespace hiptool {

/// A flag that stops long work. Set it from any thread or from a signal handler; the work
/// looks at it between pieces and then throws Error(cancelled).
class HIPTOOL_API CancelToken {
 public:
  void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool is_cancelled() const noexcept {
    return cancelled_.load(std::memory_order_relaxed);
  }

  /// Throws Error(cancelled) naming the operation if cancel() was called.
  void throw_if_cancelled(const char* operation) const;

 private:
  std::atomic<bool> cancelled_{false};
  static_assert(std::atomic<bool>::is_always_lock_free, "must be usable in a signal handler");
};

}  // namespace hiptool
