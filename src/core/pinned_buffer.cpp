// SPDX-License-Identifier: MIT
#include "hiptool/pinned_buffer.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "core/call.hpp"
#include "hiptool/error.hpp"

namespace hiptool {
namespace {

using core::call_for_host_memory;
using hip::Api;

constexpr std::size_t huge_page_bytes = 2u << 20;
constexpr std::size_t page_bytes = 4096;

Error no_host_memory(std::size_t size_bytes) {
  return Error(ErrorCode::host_out_of_memory, "mmap",
               "no host memory for " + format_size(size_bytes) + " of staging",
               "free memory on the host, or raise the limit of the container");
}

std::size_t whole_pages(std::size_t size_bytes) {
  return (size_bytes + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
}

// Anonymous memory aligned to huge pages; the surplus of the alignment is given back.
std::byte* map_huge(std::size_t size_bytes) {
  if (size_bytes > std::numeric_limits<std::size_t>::max() - 2 * huge_page_bytes) {
    throw no_host_memory(size_bytes);
  }
  const std::size_t wanted = whole_pages(size_bytes);
  void* mapped = mmap(nullptr, wanted + huge_page_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw no_host_memory(size_bytes);
  const auto start = reinterpret_cast<std::uintptr_t>(mapped);
  const std::uintptr_t aligned = (start + huge_page_bytes - 1) & ~(huge_page_bytes - 1);
  auto* data = static_cast<std::byte*>(mapped) + (aligned - start);
  if (aligned > start) munmap(mapped, aligned - start);
  if (const std::size_t rest = huge_page_bytes - (aligned - start); rest > 0) {
    munmap(data + wanted, rest);
  }
  madvise(data, wanted, MADV_HUGEPAGE);  // small pages serve too, only more slowly
  return data;
}

void touch(std::byte* data, std::size_t size_bytes) {
  // Linux 5.14; its number is the same on every architecture
  // (include/uapi/asm-generic/mman-common.h).
  constexpr int populate_write = 23;
  if (madvise(data, size_bytes, populate_write) == 0) return;
  for (std::size_t offset = 0; offset < size_bytes; offset += page_bytes) {
    // A plain store could be optimised away.
    *static_cast<volatile std::byte*>(data + offset) = std::byte{0};
  }
}

unsigned flags_of(const Device& device, RegisteredMemory::Access access) {
  const bool is_read_only = access == RegisteredMemory::Access::read_only;
  return is_read_only && device.platform() == Platform::nvidia ? hip::hipHostRegisterReadOnly
                                                               : hip::hipHostRegisterDefault;
}

void* address_of(std::span<const std::byte> memory) {
  return const_cast<std::byte*>(memory.data());  // the call writes nothing to it
}

}  // namespace

HostMemory::HostMemory(std::size_t size_bytes, std::uint32_t threads) : size_bytes_(size_bytes) {
  if (size_bytes == 0) return;
  data_ = map_huge(size_bytes);
  const std::size_t share = whole_pages(mapped_bytes() / std::max(1u, threads));
  std::vector<std::jthread> others;
  std::size_t offset = 0;
  try {
    for (; offset + share < mapped_bytes(); offset += share) {
      others.emplace_back([data = data_ + offset, share] { touch(data, share); });
    }
  } catch (const std::system_error&) {
    // No thread is left: this one touches the rest.
  }
  touch(data_ + offset, mapped_bytes() - offset);
}

HostMemory::~HostMemory() { free(); }

HostMemory::HostMemory(HostMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)) {}

HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
  if (this != &other) {
    free();
    data_ = std::exchange(other.data_, nullptr);
    size_bytes_ = std::exchange(other.size_bytes_, 0);
  }
  return *this;
}

std::size_t HostMemory::mapped_bytes() const noexcept { return whole_pages(size_bytes_); }

void HostMemory::free() noexcept {
  if (data_ != nullptr) munmap(data_, mapped_bytes());
  data_ = nullptr;
}

PinnedBuffer::PinnedBuffer(const Device& device, std::size_t size_bytes, Method method)
    : device_(device) {
  if (size_bytes == 0) return;
  if (method == Method::registered) {
    pin(HostMemory(size_bytes));
    return;
  }
  const DeviceGuard guard(device_);
  void* pointer = nullptr;
  call_for_host_memory<&Api::hipHostMalloc>(device_, format_size(size_bytes), &pointer, size_bytes,
                                            hip::hipHostMallocDefault);
  data_ = static_cast<std::byte*>(pointer);
  size_bytes_ = size_bytes;
}

PinnedBuffer::PinnedBuffer(const Device& device, HostMemory memory) : device_(device) {
  if (memory.size_bytes() > 0) pin(std::move(memory));
}

void PinnedBuffer::pin(HostMemory memory) {
  const DeviceGuard guard(device_);
  call_for_host_memory<&Api::hipHostRegister>(device_, format_size(memory.size_bytes()),
                                              static_cast<void*>(memory.data()),
                                              memory.mapped_bytes(), hip::hipHostRegisterDefault);
  memory_.emplace(std::move(memory));
  data_ = memory_->data();
  size_bytes_ = memory_->size_bytes();
}

PinnedBuffer::~PinnedBuffer() { free(); }

PinnedBuffer::PinnedBuffer(PinnedBuffer&& other) noexcept
    : device_(other.device_),
      data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)),
      memory_(std::exchange(other.memory_, std::nullopt)) {}

PinnedBuffer& PinnedBuffer::operator=(PinnedBuffer&& other) noexcept {
  if (this != &other) {
    free();
    device_ = other.device_;
    data_ = std::exchange(other.data_, nullptr);
    size_bytes_ = std::exchange(other.size_bytes_, 0);
    memory_ = std::exchange(other.memory_, std::nullopt);
  }
  return *this;
}

void PinnedBuffer::free() noexcept {
  if (data_ == nullptr) return;
  const core::QuietDeviceGuard guard(device_);
  if (memory_) {
    core::release<&Api::hipHostUnregister>(device_, static_cast<void*>(data_));
    memory_.reset();
  } else {
    core::release<&Api::hipHostFree>(device_, static_cast<void*>(data_));
  }
  data_ = nullptr;
}

RegisteredMemory::RegisteredMemory(const Device& device, std::span<const std::byte> memory,
                                   Access access)
    : device_(device) {
  if (memory.empty()) return;
  const DeviceGuard guard(device_);
  call_for_host_memory<&Api::hipHostRegister>(device_, format_size(memory.size()),
                                              address_of(memory), memory.size(),
                                              flags_of(device_, access));
  memory_ = memory;
}

RegisteredMemory::~RegisteredMemory() { unregister(); }

RegisteredMemory::RegisteredMemory(RegisteredMemory&& other) noexcept
    : device_(other.device_), memory_(std::exchange(other.memory_, {})) {}

RegisteredMemory& RegisteredMemory::operator=(RegisteredMemory&& other) noexcept {
  if (this != &other) {
    unregister();
    device_ = other.device_;
    memory_ = std::exchange(other.memory_, {});
  }
  return *this;
}

void RegisteredMemory::unregister() noexcept {
  if (memory_.empty()) return;
  const core::QuietDeviceGuard guard(device_);
  core::release<&Api::hipHostUnregister>(device_, address_of(memory_));
  memory_ = {};
}

}  // namespace hiptool
