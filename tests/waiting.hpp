// SPDX-License-Identifier: MIT
/// How tests wait: for an event, never for a time.
#pragma once
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>

#include "base/file.hpp"

namespace hiptool::test {

/// Ends a test that hangs, and is no limit for what it tests.
inline constexpr std::chrono::seconds hang_guard{100};

/// Waits for what wakes nobody, such as a file; false if it does not come.
template <class Condition>
bool comes_true(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + hang_guard;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// Whether no other thread of this process runs or is about to.
inline bool others_sleep() {
  const std::string own = std::to_string(::syscall(SYS_gettid));
  std::error_code ended;  // a thread may go meanwhile
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", ended)) {
    if (task.path().filename() == own) continue;
    const std::string text = base::read_small_file(task.path() / "stat");
    const auto name_end = text.rfind(')');
    if (name_end == std::string::npos || name_end + 2 >= text.size()) continue;
    const char state = text[name_end + 2];
    if (state == 'R' || state == 'D') return false;  // D: waits for a disk
  }
  return true;
}

/// Waits until all other threads of this process wait: what they were to do without a further event
/// is done. A call that should wait was then made, and has not returned.
inline bool become_idle() {
  return comes_true([] { return others_sleep() && others_sleep(); });
}

}  // namespace hiptool::test
