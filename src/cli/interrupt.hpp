// SPDX-License-Identifier: MIT
#pragma once
#include <csignal>

#include "hiptool/cancel.hpp"

namespace hiptool::cli {

/// While it lives, the first SIGINT or SIGTERM sets the token and says so on standard error; the
/// second one ends the process at once, also while a driver call hangs. A signal that was ignored
/// when the process started (a background job) stays ignored. One object per process at a time.
class InterruptHandler {
 public:
  explicit InterruptHandler(CancelToken& token);
  ~InterruptHandler();
  InterruptHandler(const InterruptHandler&) = delete;
  InterruptHandler& operator=(const InterruptHandler&) = delete;

  /// The first signal that arrived, 0 while there was none.
  int signal() const noexcept;

 private:
  struct sigaction old_interrupt_ {};
  struct sigaction old_terminate_ {};
};

}  // namespace hiptool::cli
