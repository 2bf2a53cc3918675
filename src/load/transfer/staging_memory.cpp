// SPDX-License-Identifier: MIT
#include "load/transfer/staging_memory.hpp"

#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace hiptool::load {

struct StagingMemory::Impl {
  std::size_t slot_bytes;
  std::mutex mutex;
  std::vector<HostMemory> ready;
  std::jthread thread;  // last: it uses the others

  void make(std::uint32_t slots, const std::stop_token& stop) {
    for (std::uint32_t i = 0; i < slots && !stop.stop_requested(); ++i) {
      try {
        HostMemory memory(slot_bytes);
        const std::lock_guard lock(mutex);
        ready.push_back(std::move(memory));
      } catch (const std::exception&) {
        return;  // the load meets the same shortage and reports it
      }
    }
  }
};

StagingMemory::StagingMemory(std::uint32_t slots, std::size_t slot_bytes)
    : impl_(std::make_unique<Impl>()) {
  impl_->slot_bytes = slot_bytes;
  try {
    impl_->thread = std::jthread(
        [impl = impl_.get(), slots](const std::stop_token& stop) { impl->make(slots, stop); });
  } catch (const std::system_error&) {
    // Without a thread the loader touches its slots itself.
  }
}

StagingMemory::~StagingMemory() = default;

std::optional<HostMemory> StagingMemory::take(std::size_t size_bytes) {
  const std::lock_guard lock(impl_->mutex);
  if (size_bytes != impl_->slot_bytes || impl_->ready.empty()) return std::nullopt;
  HostMemory memory = std::move(impl_->ready.back());
  impl_->ready.pop_back();
  return memory;
}

}  // namespace hiptool::load
