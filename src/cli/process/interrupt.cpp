// SPDX-License-Identifier: MIT
#include "cli/process/interrupt.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <string_view>

#include "base/temporary_folder.hpp"
#include "cli/output/screen_terminal.hpp"

namespace hiptool::cli {
namespace {

// Used by the signal handler, hence static and lock-free.
std::atomic<CancelToken*> active_token{nullptr};
std::atomic<int> first_signal{0};
std::atomic<std::int64_t> first_signal_ns{0};
std::atomic<bool> is_on_terminal{false};
static_assert(std::atomic<CancelToken*>::is_always_lock_free &&
              std::atomic<int>::is_always_lock_free &&
              std::atomic<std::int64_t>::is_always_lock_free);

constexpr std::array stop_signals{SIGINT, SIGTERM, SIGHUP};
constexpr std::int64_t same_press_ns = 50'000'000;

// clock_gettime is on POSIX's list of functions that a signal handler may call.
std::int64_t now_ns() {
  std::timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

extern "C" void on_signal(int number) {
  const int saved_errno = errno;
  const std::int64_t now = now_ns();
  int none = 0;
  if (first_signal.compare_exchange_strong(none, number)) {
    first_signal_ns = now;
  } else {
    // Zero: the first handler was interrupted before it stored its time.
    const std::int64_t first_ns = first_signal_ns.load();
    if (first_ns != 0 && now - first_ns > same_press_ns) {
      ScreenTerminal::leave_screen();
      base::remove_temporary_paths();
      ::_exit(128 + number);
    }
    errno = saved_errno;
    return;
  }
  if (CancelToken* token = active_token.load()) token->cancel();
  // A terminal shows "^C" or a progress bar on the current line.
  constexpr std::string_view message = "\ninterrupted, stopping; a second signal quits at once\n";
  const std::string_view text = is_on_terminal ? message : message.substr(1);
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
  errno = saved_errno;
}

void install(int number, struct sigaction& old_action) {
  ::sigaction(number, nullptr, &old_action);
  if (old_action.sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(number, &action, nullptr);
}

}  // namespace

InterruptHandler::InterruptHandler(CancelToken& token) {
  active_token = &token;
  first_signal = 0;
  first_signal_ns = 0;
  is_on_terminal = ::isatty(STDERR_FILENO) == 1;
  for (std::size_t i = 0; i < stop_signals.size(); ++i) install(stop_signals[i], old_actions_[i]);
}

InterruptHandler::~InterruptHandler() {
  for (std::size_t i = 0; i < stop_signals.size(); ++i) {
    ::sigaction(stop_signals[i], &old_actions_[i], nullptr);
  }
  active_token = nullptr;
}

int InterruptHandler::signal() noexcept { return first_signal.load(); }

}  // namespace hiptool::cli
