// SPDX-License-Identifier: MIT
#include "load/workers.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "system/host.hpp"

namespace hiptool::load {
namespace {

/// One run(), as its threads see it.
struct WorkerRun {
  WorkerRun(const WorkerTask& does, std::uint32_t threads) : work(does), count(threads) {}

  const WorkerTask& work;
  const std::uint32_t count;
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::exception_ptr failure;

  void do_work(std::uint32_t index) {
    if (index >= count) return;
    try {
      work(index, stop);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      stop.store(true);
    }
  }
};

}  // namespace

struct WorkerThreads::Impl {
  std::mutex mutex;                      // of prepare() and run()
  std::atomic<WorkerRun*> run{nullptr};  // null: the threads end; read once `turn` has changed
  std::atomic<std::uint32_t> turn{0};
  std::atomic<std::uint32_t> busy{0};  // threads that have not ended this turn
  std::vector<std::jthread> threads;   // last: they use the others

  ~Impl() { begin(nullptr); }

  void begin(WorkerRun* next) {
    run.store(next);
    busy.store(static_cast<std::uint32_t>(threads.size()));
    turn.fetch_add(1);
    turn.notify_all();
  }

  void serve(std::uint32_t index, std::uint32_t seen) {
    for (;;) {
      turn.wait(seen);
      ++seen;
      WorkerRun* const current = run.load();
      if (current == nullptr) return;
      current->do_work(index);
      if (busy.fetch_sub(1) == 1) busy.notify_one();
    }
  }

  // A thread takes part in the turn after the one that it has seen.
  void start(std::uint32_t count, std::uint32_t seen) {
    const bool is_busy = seen != turn.load();
    while (threads.size() < count) {
      const auto index = static_cast<std::uint32_t>(threads.size());
      if (is_busy) busy.fetch_add(1);
      try {
        threads.emplace_back([this, index, seen] { serve(index, seen); });
      } catch (const std::exception&) {  // no thread, or no memory for one
        if (is_busy) busy.fetch_sub(1);
        return;
      }
    }
  }
};

WorkerThreads::WorkerThreads() : impl_(std::make_unique<Impl>()) {}

WorkerThreads::~WorkerThreads() = default;

void WorkerThreads::prepare(std::uint32_t count) {
  const std::unique_lock lock(impl_->mutex, std::try_to_lock);
  if (lock) impl_->start(count, impl_->turn.load());
}

void WorkerThreads::run(std::uint32_t count, const WorkerTask& work) {
  const std::lock_guard lock(impl_->mutex);
  WorkerRun run(work, count);
  const std::uint32_t before = impl_->turn.load();
  impl_->begin(&run);
  impl_->start(count, before);
  if (impl_->threads.empty()) run.do_work(0);
  for (std::uint32_t left = impl_->busy.load(); left != 0; left = impl_->busy.load()) {
    impl_->busy.wait(left);
  }
  if (run.failure) std::rethrow_exception(run.failure);
}

void run_workers(std::uint32_t count, const WorkerTask& work) { WorkerThreads().run(count, work); }

void run_for_each(std::size_t count,
                  const std::function<void(std::size_t i, const std::atomic<bool>& stop)>& work) {
  std::atomic<std::size_t> next{0};
  run_workers(static_cast<std::uint32_t>(count), [&](std::uint32_t, const std::atomic<bool>& stop) {
    for (std::size_t i = next++; i < count && !stop.load(); i = next++) work(i, stop);
  });
}

std::uint32_t choose_threads(std::uint32_t least, std::uint32_t most,
                             std::uint32_t cores_per_thread) {
  const auto cores = static_cast<std::uint32_t>(system::usable_cores("/"));
  return std::clamp(cores / cores_per_thread, least, most);
}

}  // namespace hiptool::load
