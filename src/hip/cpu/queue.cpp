// SPDX-License-Identifier: MIT
#include "hip/cpu/queue.hpp"

#include <utility>

#include "hip/cpu/workers.hpp"

namespace hiptool::hip::cpu {
namespace {

thread_local Queue* current_queue = nullptr;

}  // namespace

Queue& Queue::current() { return *current_queue; }

bool Ticket::done() const { return queue == nullptr || queue->is_done(number); }

bool Ticket::wait() const { return queue == nullptr || queue->wait(number); }

Ticket Queue::push(std::function<void()> run, std::vector<Ticket> after) {
  const std::lock_guard lock(mutex_);
  if (closed_ || abandoned_) return {};
  waiting_.push_back({std::move(run), std::move(after)});
  if (!worker_.joinable()) {
    try {
      worker_ = Workers::instance().start([self = shared_from_this()]() mutable {
        self->work_loop();
        std::thread own;
        {
          const std::lock_guard own_lock(self->mutex_);
          own = std::move(self->worker_);
        }
        // Nothing of the queue may be touched by this thread once it can be joined.
        self.reset();
        Workers::instance().retire(std::move(own));
      });
    } catch (...) {
      waiting_.pop_back();
      throw;
    }
  }
  ++pushed_;
  pushed_signal_.notify_one();
  return {shared_from_this(), pushed_};
}

Ticket Queue::newest() {
  const std::lock_guard lock(mutex_);
  return {shared_from_this(), pushed_};
}

bool Queue::idle() const {
  const std::lock_guard lock(mutex_);
  return done_ == pushed_;
}

bool Queue::is_done(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  return done_ >= number;
}

bool Queue::wait(std::uint64_t number) {
  std::unique_lock lock(mutex_);
  done_signal_.wait(lock, [&] { return done_ >= number || abandoned_; });
  return done_ >= number;
}

void Queue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  pushed_signal_.notify_one();
}

bool Queue::is_over() const {
  const std::lock_guard lock(mutex_);
  return closed_ && done_ == pushed_ && !failed_.load();
}

void Queue::abandon() {
  const std::lock_guard lock(mutex_);
  abandoned_ = true;
  pushed_signal_.notify_one();
  done_signal_.notify_all();
}

void Queue::work_loop() {
  current_queue = this;
  std::unique_lock lock(mutex_);
  for (;;) {
    pushed_signal_.wait(lock, [this] { return !waiting_.empty() || closed_ || abandoned_; });
    if (abandoned_ || waiting_.empty()) return;
    if (!run_next(lock)) return;
  }
}

/// False when a ticket will never be done.
bool Queue::run_next(std::unique_lock<std::mutex>& lock) {
  Work work = std::move(waiting_.front());
  waiting_.pop_front();
  lock.unlock();
  bool reachable = true;
  for (const Ticket& ticket : work.after) reachable = reachable && ticket.wait();
  if (reachable && work.run) work.run();
  // Release the work's objects before its end is visible: a waiting test may count live objects.
  work = {};
  lock.lock();
  if (!reachable) return false;
  ++done_;
  done_signal_.notify_all();
  return true;
}

}  // namespace hiptool::hip::cpu
