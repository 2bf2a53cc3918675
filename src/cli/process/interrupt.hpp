// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <csignal>

#include "hiptool/cancel.hpp"

namespace hiptool::cli {

/// During its lifetime the first SIGINT, SIGTERM or SIGHUP sets the token and prints a message to
/// standard error; the second one ends the process at once, even during a driver call that hangs.
/// Signals within 50 ms of the first count as the same one, since `timeout` and some shells send
/// two. A signal that was ignored at process start (background job, nohup) stays ignored. One
/// object per process at a time.
class InterruptHandler {
 public:
  explicit InterruptHandler(CancelToken& token);
  ~InterruptHandler();
  InterruptHandler(const InterruptHandler&) = delete;
  InterruptHandler& operator=(const InterruptHandler&) = delete;

  /// The first signal received, 0 if none. Async-signal-safe.
  static int signal() noexcept;

 private:
  std::array<struct sigaction, 3> old_actions_{};
};

}  // namespace hiptool::cli
