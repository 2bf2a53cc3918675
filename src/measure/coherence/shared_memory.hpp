// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "hiptool/pinned_buffer.hpp"
#include "measure/coherence/coherence.hpp"
#include "measure/collective/exchange_memory.hpp"

namespace hiptool::measure {

/// Memory of one kind that host and device address. Owning and move-only.
class SharedMemory {
 public:
  /// Throws Error(unsupported) where the device has no such memory, and as PinnedBuffer does.
  SharedMemory(const Device& device, SharedMemoryKind kind, std::size_t size_bytes);

  std::span<std::uint32_t> words() const noexcept;
  std::uint64_t device_address() const noexcept { return device_address_; }
  /// Whether the host may touch it while a kernel runs.
  bool is_concurrent() const noexcept { return is_concurrent_; }

 private:
  struct FreeManaged {
    Device device;
    void operator()(std::byte* data) const noexcept;
  };
  void make_managed(const Device& device);

  std::size_t size_bytes_;
  std::byte* data_ = nullptr;
  std::uint64_t device_address_ = 0;
  bool is_concurrent_ = true;
  std::optional<PinnedBuffer> pinned_;
  std::optional<SharedHostMemory> mapped_;
  std::unique_ptr<std::byte, FreeManaged> managed_;
};

}  // namespace hiptool::measure
