// SPDX-License-Identifier: MIT
#include "cli/output/heartbeat.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <optional>
#include <system_error>

namespace hiptool::cli {
namespace {

// Other text moves the time of the next beat, which must not be missed by more than this.
constexpr std::chrono::milliseconds longest_sleep{250};

}  // namespace

Heartbeat::Heartbeat(Console& console, const CancelToken& cancel, const std::string& run_name)
    : console_(console), cancel_(cancel) {
  console_.set_step(run_name);
  // A new thread inherits the mask: signals are for the thread that works.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    // The limit on threads is for the work.
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard lock(mutex_);
    is_ended_ = true;
  }
  ended_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Heartbeat::run() {
  std::unique_lock lock(mutex_);
  try {
    while (!is_ended_) {
      if (cancel_.is_cancelled()) console_.set_stopping();
      const std::optional<Console::Clock::time_point> next = console_.beat();
      if (!next) return;
      ended_.wait_until(lock, std::min(*next, Console::Clock::now() + longest_sleep));
    }
  } catch (const std::exception&) {
    // A run without beats is still a run.
  }
}

}  // namespace hiptool::cli
