// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace hiptool::load {

/// What each of several threads does; `stop` is set once another one has failed, and is looked at
/// between pieces of work.
using WorkerTask = std::function<void(std::uint32_t index, const std::atomic<bool>& stop)>;

/// Threads that stay for further work. Each starts 20 to 80 us after the one before, so that the
/// last of 28 readers began 1.4 ms after the load; with threads that were there, 0.5 ms (two H200,
/// 32 cores).
class WorkerThreads {
 public:
  WorkerThreads();
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  /// Starts threads until there are `count`, or as many as the system allows. Does nothing during a
  /// run().
  void prepare(std::uint32_t count);

  /// Runs `work` on `count` threads, starts those that are missing, and waits for all. Where the
  /// system allows fewer, these do it, and where it allows none, the caller does. The first
  /// exception sets `stop`, and is thrown here once all have ended. Waits for an earlier run(), so
  /// `work` must not call it.
  void run(std::uint32_t count, const WorkerTask& work);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// WorkerThreads::run() of threads that end with the call.
void run_workers(std::uint32_t count, const WorkerTask& work);

/// Runs `work(i, stop)` for each i below `count`, all at once where there are threads for it;
/// throws as run_workers does.
void run_for_each(std::size_t count,
                  const std::function<void(std::size_t i, const std::atomic<bool>& stop)>& work);

/// Threads to use when the caller names none: the cores this process may use, within the limits.
std::uint32_t choose_threads(std::uint32_t least, std::uint32_t most,
                             std::uint32_t cores_per_thread);

}  // namespace hiptool::load
