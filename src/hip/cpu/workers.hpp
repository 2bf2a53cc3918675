// SPDX-License-Identifier: MIT
/// The worker threads of all queues: each is joined, either when the next one starts or at exit.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace hiptool::hip::cpu {

class Workers {
 public:
  /// Never destroyed: a worker may still end while the process's static objects go.
  static Workers& instance();

  /// Starts a thread that takes no signals, so that a program's handlers run in its own threads.
  std::thread start(std::function<void()> body);

  /// The last thing a worker does: it leaves its own thread object to be joined by others.
  void retire(std::thread worker);

  /// Joins the workers that have retired.
  void join_retired();

  /// Waits until every worker has retired; false on timeout (a host function hangs).
  bool wait_all_retired(std::chrono::milliseconds limit);

 private:
  Workers() = default;

  std::mutex mutex_;
  std::condition_variable retired_signal_;
  std::size_t running_ = 0;
  std::vector<std::thread> retired_;
};

}  // namespace hiptool::hip::cpu
