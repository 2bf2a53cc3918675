// SPDX-License-Identifier: MIT
#include "hip/cpu/grid_workers.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <system_error>
#include <utility>

#include "hip/cpu/facts.hpp"
#include "hip/cpu/signal_stack.hpp"
#include "hip/cpu/workers.hpp"

namespace hiptool::hip::cpu {
namespace {

constexpr const char* ending_text = "the process is ending";

}  // namespace

struct GridWorkers::Job {
  explicit Job(const Launch& what) : launch(what), blocks(volume(what.grid)) {}

  /// Takes blocks until there is none left.
  void work();
  void fail(const char* text);

  const Launch launch;
  const std::uint64_t blocks;
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> is_over{false};
  unsigned helpers = 0;  ///< at work; under the workers' mutex
  std::mutex fault_mutex;
  std::string fault;
};

void GridWorkers::Job::work() {
  thread_local SignalStack signal_stack;
  thread_local BlockRunner runner;
  while (!is_over.load(std::memory_order_relaxed)) {
    const std::uint64_t block = next.fetch_add(1, std::memory_order_relaxed);
    if (block >= blocks) return;
    try {
      runner.run(launch, block);
    } catch (const std::exception& failure) {
      fail(failure.what());
    } catch (...) {
      fail("the kernel threw something unknown");
    }
  }
}

void GridWorkers::Job::fail(const char* text) {
  const std::lock_guard lock(fault_mutex);
  if (fault.empty()) fault = text;
  is_over.store(true);
}

GridWorkers& GridWorkers::instance() {
  static auto* const workers = new GridWorkers;
  return *workers;
}

std::string GridWorkers::run(const Launch& launch) {
  const auto job = std::make_shared<Job>(launch);
  if (has_one_shared_memory()) {
    static std::mutex one_launch;
    const std::lock_guard lock(one_launch);
    job->work();
    return job->fault;
  }
  if (job->blocks > 1) {
    const auto cores = static_cast<std::uint64_t>(std::max(1, current_facts()->cores));
    start_helpers(static_cast<std::size_t>(std::min(cores, job->blocks) - 1));
    const std::lock_guard lock(mutex_);
    if (stopped_) job->fail(ending_text);
    jobs_.push_back(job);
    job_signal_.notify_all();
  }
  job->work();
  std::unique_lock lock(mutex_);
  std::erase(jobs_, job);
  left_signal_.wait(lock, [&] { return job->helpers == 0; });
  return job->fault;
}

void GridWorkers::start_helpers(std::size_t wanted) {
  const std::lock_guard lock(mutex_);
  helpers_.reserve(wanted);
  while (!stopped_ && helpers_.size() < wanted) {
    try {
      helpers_.push_back(Workers::instance().start([this] { help(); }));
    } catch (const std::system_error&) {
      return;  // fewer do the same work
    }
  }
}

void GridWorkers::help() {
  std::unique_lock lock(mutex_);
  for (;;) {
    job_signal_.wait(lock, [this] { return stopped_ || !jobs_.empty(); });
    if (stopped_) break;
    const auto job = jobs_.front();
    ++job->helpers;
    lock.unlock();
    job->work();
    lock.lock();
    --job->helpers;
    std::erase(jobs_, job);
    left_signal_.notify_all();
  }
  std::thread own = take_own_thread();
  lock.unlock();
  Workers::instance().retire(std::move(own));
}

/// The list is locked.
std::thread GridWorkers::take_own_thread() {
  const auto own = std::ranges::find_if(helpers_, [](const std::thread& helper) {
    return helper.get_id() == std::this_thread::get_id();
  });
  return std::move(*own);
}

void GridWorkers::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  for (const auto& job : jobs_) job->fail(ending_text);
  job_signal_.notify_all();
}

}  // namespace hiptool::hip::cpu
