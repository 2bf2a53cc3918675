// SPDX-License-Identifier: MIT
/// One stream's work: an in-order queue with a worker thread of its own, started by the first work.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "hip/cpu/capture.hpp"

namespace hiptool::hip::cpu {

class Queue;

/// A place in a queue: done when all work up to it is done. Keeps the queue alive, so it outlives
/// the stream's handle. Without a queue it is done.
struct Ticket {
  std::shared_ptr<Queue> queue;
  std::uint64_t number = 0;

  bool done() const;
  bool wait() const;  ///< false: the process is ending and the work will never be done
};

/// Properties of a queue, which never change.
struct QueueTraits {
  int device = 0;
  bool is_null = false;      ///< the device's default stream
  bool is_blocking = false;  ///< takes part in the default stream's order
};

class Queue : public std::enable_shared_from_this<Queue> {
 public:
  explicit Queue(const QueueTraits& traits) : traits_(traits) {}

  const QueueTraits& traits() const { return traits_; }

  /// The queue whose work this thread runs; only within work.
  static Queue& current();

  /// What its stream records in place of queueing it.
  Capture& capture() { return capture_; }

  /// Appends work that runs once all tickets are done, and returns its place. An empty function
  /// only waits. After close() or abandon() nothing is added and the ticket has no queue.
  Ticket push(std::function<void()> run, std::vector<Ticket> after);

  /// The place of the newest work.
  Ticket newest();

  bool idle() const;
  bool is_done(std::uint64_t number) const;
  bool wait(std::uint64_t number);

  /// The current work has failed on the device; the next call that waits for it reports that.
  void note_failure() { failed_.store(true); }
  /// Whether something has failed since the last call.
  bool take_failure() { return failed_.exchange(false); }

  /// Takes no more work; queued work still runs, then the worker ends.
  void close();
  /// Closed, without work left to run or a failure left to report.
  bool is_over() const;
  /// Drops work that has not started; the worker ends after the current work.
  void abandon();

 private:
  struct Work {
    std::function<void()> run;
    std::vector<Ticket> after;
  };

  void work_loop();
  bool run_next(std::unique_lock<std::mutex>& lock);

  const QueueTraits traits_;
  Capture capture_;
  mutable std::mutex mutex_;
  std::condition_variable pushed_signal_;
  std::condition_variable done_signal_;
  std::deque<Work> waiting_;
  std::uint64_t pushed_ = 0;
  std::uint64_t done_ = 0;
  bool closed_ = false;
  bool abandoned_ = false;
  std::atomic<bool> failed_{false};
  std::thread worker_;
};

}  // namespace hiptool::hip::cpu
