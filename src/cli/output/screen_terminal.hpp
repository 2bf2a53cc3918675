// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <chrono>
#include <csignal>
#include <optional>

namespace hiptool::cli {

/// During its lifetime the terminal shows a screen of its own without a cursor, and keys arrive at
/// once and without an echo. Standard output is a terminal; without one on standard input there are
/// no keys. The former state comes back on every way out: the destructor, exit(), leave_screen()
/// before _exit(), a stop by Ctrl-Z (after which the screen is entered again), and signals that end
/// the process, except SIGKILL. One object per process at a time.
class ScreenTerminal {
 public:
  ScreenTerminal();
  ~ScreenTerminal();
  ScreenTerminal(const ScreenTerminal&) = delete;
  ScreenTerminal& operator=(const ScreenTerminal&) = delete;

  /// Waits for a key; absent after that time, after a signal, and when the process was stopped
  /// meanwhile.
  std::optional<char> wait_for_key(std::chrono::milliseconds most);

  /// True once after the process was stopped and continued: the screen is empty then.
  static bool was_continued() noexcept;

  /// Restores the terminal if an object has changed it. Async-signal-safe.
  static void leave_screen() noexcept;

 private:
  std::array<struct sigaction, 7> old_actions_{};
  bool has_keyboard_ = true;
};

}  // namespace hiptool::cli
