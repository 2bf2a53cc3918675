// SPDX-License-Identifier: MIT
#include "cli/output/screen_terminal.hpp"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <string_view>

#include "base/file.hpp"

namespace hiptool::cli {
namespace {

// Alternate screen and cursor of xterm (ctlseqs, DECSET 1049 and 25), which other terminals share.
constexpr std::string_view enter_text = "\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J";
constexpr std::string_view leave_text = "\x1b[?25h\x1b[?1049l";

// SIGINT, SIGTERM and SIGHUP end the run through the InterruptHandler.
constexpr std::array stop_and_end_signals{SIGTSTP, SIGQUIT, SIGABRT, SIGSEGV,
                                          SIGBUS,  SIGILL,  SIGFPE};

// Used by signal handlers, hence static.
termios former_modes{};
std::atomic<bool> has_modes{false};
std::atomic<bool> is_entered{false};
std::atomic<bool> is_continued{false};
static_assert(std::atomic<bool>::is_always_lock_free);

// Not TCSADRAIN, which would wait for ever after Ctrl-S.
void set_modes(const termios& modes) noexcept {
  while (::tcsetattr(STDIN_FILENO, TCSANOW, &modes) != 0 && errno == EINTR) {
  }
}

void enter_screen() noexcept {
  if (has_modes) {
    termios modes = former_modes;
    modes.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    modes.c_cc[VMIN] = 1;
    modes.c_cc[VTIME] = 0;
    set_modes(modes);
  }
  is_entered = true;
  static_cast<void>(base::write_all(STDOUT_FILENO, enter_text));
}

extern "C" void on_stop(int number) {
  const int saved_errno = errno;
  ScreenTerminal::leave_screen();
  struct sigaction own {};
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  ::sigemptyset(&usual.sa_mask);
  ::sigaction(number, &usual, &own);
  sigset_t only{};
  ::sigemptyset(&only);
  ::sigaddset(&only, number);
  ::raise(number);  // pending until it is unblocked
  sigset_t before{};
  ::pthread_sigmask(SIG_UNBLOCK, &only, &before);  // stops here until SIGCONT
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::sigaction(number, &own, nullptr);
  enter_screen();
  is_continued = true;
  errno = saved_errno;
}

// The handler is reset, so the signal ends the process.
extern "C" void on_end(int number) {
  ScreenTerminal::leave_screen();
  ::raise(number);
}

}  // namespace

ScreenTerminal::ScreenTerminal() {
  has_modes = ::isatty(STDIN_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &former_modes) == 0;
  is_continued = false;
  static const int registered = std::atexit(leave_screen);
  static_cast<void>(registered);
  for (std::size_t i = 0; i < stop_and_end_signals.size(); ++i) {
    struct sigaction action {};
    const bool stops = stop_and_end_signals[i] == SIGTSTP;
    action.sa_handler = stops ? on_stop : on_end;
    action.sa_flags = stops ? SA_RESTART : static_cast<int>(SA_RESETHAND | SA_NODEFER);
    ::sigemptyset(&action.sa_mask);
    ::sigaction(stop_and_end_signals[i], nullptr, &old_actions_[i]);
    if (old_actions_[i].sa_handler == SIG_IGN) continue;
    ::sigaction(stop_and_end_signals[i], &action, nullptr);
  }
  enter_screen();
}

ScreenTerminal::~ScreenTerminal() {
  leave_screen();
  for (std::size_t i = 0; i < stop_and_end_signals.size(); ++i) {
    ::sigaction(stop_and_end_signals[i], &old_actions_[i], nullptr);
  }
}

void ScreenTerminal::leave_screen() noexcept {
  if (!is_entered.exchange(false)) return;
  static_cast<void>(base::write_all(STDOUT_FILENO, leave_text));
  if (has_modes) set_modes(former_modes);
}

bool ScreenTerminal::was_continued() noexcept { return is_continued.exchange(false); }

std::optional<char> ScreenTerminal::wait_for_key(std::chrono::milliseconds most) {
  const int source =
      has_modes && has_keyboard_ ? STDIN_FILENO : -1;  // poll() ignores negative ones
  pollfd keyboard{source, POLLIN, 0};
  if (::poll(&keyboard, 1, static_cast<int>(most.count())) <= 0) return {};
  char key = 0;
  const ssize_t got = ::read(STDIN_FILENO, &key, 1);
  if (got == 1) return key;
  if (got == 0 || errno == EIO) has_keyboard_ = false;  // the terminal is gone
  return {};
}

}  // namespace hiptool::cli
