// SPDX-License-Identifier: MIT
#include "hip/cpu/workers.hpp"

#include <csignal>
#include <utility>

namespace hiptool::hip::cpu {
namespace {

/// A new thread inherits the signal mask of the one that starts it.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    // A kernel's own faults: blocked, they would end the process past every handler. abort()
    // unblocks its signal before it raises it only in C libraries before glibc 2.41.
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

Workers& Workers::instance() {
  static Workers* const workers = new Workers;
  return *workers;
}

std::thread Workers::start(std::function<void()> body) {
  const SignalsBlocked blocked;
  const std::lock_guard lock(mutex_);
  std::thread worker(std::move(body));
  ++running_;
  return worker;
}

void Workers::retire(std::thread worker) {
  const std::lock_guard lock(mutex_);
  retired_.push_back(std::move(worker));
  --running_;
  retired_signal_.notify_all();
}

void Workers::join_retired() {
  std::vector<std::thread> ended;
  {
    const std::lock_guard lock(mutex_);
    ended.swap(retired_);
  }
  for (std::thread& worker : ended) worker.join();
}

bool Workers::wait_all_retired(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  return retired_signal_.wait_for(lock, limit, [this] { return running_ == 0; });
}

}  // namespace hiptool::hip::cpu
