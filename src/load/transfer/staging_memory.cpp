// SPDX-License-Identifier: MIT
#include "load/transfer/staging_memory.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace hiptool::load {
namespace {

// Touching pages takes the lock of the address space, which a driver needs that starts: mostly at
// first, and less where one thread touches.
constexpr std::chrono::milliseconds begin_after{30};

}  // namespace

struct StagingMemory::Impl {
  std::size_t block_bytes;
  std::mutex mutex;
  std::condition_variable_any changed;
  std::vector<HostMemory> ready;
  bool is_finished = false;
  bool is_wanted = false;  // the load is here already
  std::jthread thread;     // last: it uses the others

  void make(std::uint32_t blocks, const std::stop_token& stop) {
    try {
      std::unique_lock lock(mutex);
      changed.wait_for(lock, stop, begin_after, [this] { return is_wanted; });
      for (std::uint32_t i = 0; i < blocks && !stop.stop_requested(); ++i) {
        const std::uint32_t threads = is_wanted ? touching_threads : 1;
        lock.unlock();
        HostMemory memory(block_bytes, threads);
        lock.lock();
        ready.push_back(std::move(memory));
        changed.notify_all();
      }
    } catch (const std::exception&) {
      // The load meets the same shortage and reports it.
    }
    const std::lock_guard lock(mutex);
    is_finished = true;
    changed.notify_all();
  }
};

StagingMemory::StagingMemory(std::uint32_t blocks, std::size_t block_bytes)
    : impl_(std::make_unique<Impl>()) {
  impl_->block_bytes = block_bytes;
  try {
    impl_->thread = std::jthread(
        [impl = impl_.get(), blocks](const std::stop_token& stop) { impl->make(blocks, stop); });
  } catch (const std::system_error&) {
    impl_->is_finished = true;  // without a thread the loader touches its memory itself
  }
}

StagingMemory::~StagingMemory() = default;

std::optional<HostMemory> StagingMemory::take(std::size_t size_bytes) {
  if (size_bytes > impl_->block_bytes) return std::nullopt;
  std::unique_lock lock(impl_->mutex);
  impl_->is_wanted = true;
  impl_->changed.notify_all();
  impl_->changed.wait(lock, [this] { return !impl_->ready.empty() || impl_->is_finished; });
  if (impl_->ready.empty()) return std::nullopt;
  HostMemory memory = std::move(impl_->ready.back());
  impl_->ready.pop_back();
  return memory;
}

}  // namespace hiptool::load
