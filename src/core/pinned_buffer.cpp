// SPDX-License-Identifier: MIT
#include "hiptool/pinned_buffer.hpp"

#include <sys/mman.h>

#include <algorithm>
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
  // Each call holds the lock of the address space, which a starting driver needs to map memory.
  constexpr std::size_t piece_bytes = 256u << 10;
  std::size_t offset = 0;
  while (offset < size_bytes) {
    const std::size_t piece = std::min(piece_bytes, size_bytes - offset);
    if (madvise(data + offset, piece, populate_write) != 0) break;
    offset += piece;
  }
  for (; offset < size_bytes; offset += page_bytes) {
    // A plain store could be optimised away.
    *static_cast<volatile std::byte*>(data + offset) = std::byte{0};
  }
}

unsigned flags_of(const Device& device, RegisteredMemory::Access access) {
  const bool is_read_only = access == RegisteredMemory::Access::read_only;
  return is_read_only && device.platform() == Platform::nvidia ? hip::hipHostRegisterReadOnly
                                                               : hip::hipHostRegisterDefault;
}

// The runtime only reads what was registered as constant.
void* writable(const std::byte* data) { return const_cast<std::byte*>(data); }

}  // namespace

HostMemory::HostMemory(std::size_t size_bytes, std::uint32_t threads)
    : data_(size_bytes > 0 ? map_huge(size_bytes) : nullptr, Unmap{size_bytes}) {
  if (!data_) return;
  // More threads than processors touch no page sooner, and thousands leave no room for others.
  const std::uint32_t useful = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t share = whole_pages(mapped_bytes() / std::clamp(threads, 1u, useful));
  std::vector<std::jthread> others;
  std::size_t offset = 0;
  try {
    for (; offset + share < mapped_bytes(); offset += share) {
      others.emplace_back([begin = data() + offset, share] { touch(begin, share); });
    }
  } catch (const std::system_error&) {
    // No thread is left: this one touches the rest.
  }
  touch(data() + offset, mapped_bytes() - offset);
}

std::size_t HostMemory::mapped_bytes() const noexcept { return whole_pages(size_bytes()); }

void HostMemory::Unmap::operator()(std::byte* data) const noexcept {
  munmap(data, whole_pages(size_bytes));
}

PinnedBuffer::PinnedBuffer(const Device& device, std::size_t size_bytes, Method method)
    : data_(nullptr, Unpin{device}) {
  if (size_bytes == 0) return;
  if (method == Method::registered) {
    *this = PinnedBuffer(device, HostMemory(size_bytes));
    return;
  }
  const DeviceGuard guard(device);
  void* pointer = nullptr;
  call_for_host_memory<&Api::hipHostMalloc>(device, format_size(size_bytes), &pointer, size_bytes,
                                            hip::hipHostMallocDefault);
  data_ = {static_cast<std::byte*>(pointer), Unpin{device, size_bytes}};
}

PinnedBuffer::PinnedBuffer(const Device& device, HostMemory memory)
    : data_(nullptr, Unpin{device}) {
  if (memory.size_bytes() == 0) return;
  const DeviceGuard guard(device);
  std::byte* const data = memory.data();
  const std::size_t size_bytes = memory.size_bytes();
  call_for_host_memory<&Api::hipHostRegister>(device, format_size(size_bytes),
                                              static_cast<void*>(data), memory.mapped_bytes(),
                                              hip::hipHostRegisterDefault);
  data_ = {data, Unpin{device, size_bytes, std::move(memory)}};
}

void PinnedBuffer::Unpin::operator()(std::byte* data) const noexcept {
  const core::QuietDeviceGuard guard(device);
  if (memory) {
    core::release<&Api::hipHostUnregister>(device, static_cast<void*>(data));
  } else {
    core::release<&Api::hipHostFree>(device, static_cast<void*>(data));
  }
}

RegisteredMemory::RegisteredMemory(const Device& device, std::span<const std::byte> memory,
                                   Access access)
    : data_(nullptr, Unregister{device}) {
  if (memory.empty()) return;
  const DeviceGuard guard(device);
  call_for_host_memory<&Api::hipHostRegister>(device, format_size(memory.size()),
                                              writable(memory.data()), memory.size(),
                                              flags_of(device, access));
  data_ = {memory.data(), Unregister{device, memory.size()}};
}

void RegisteredMemory::Unregister::operator()(const std::byte* data) const noexcept {
  const core::QuietDeviceGuard guard(device);
  core::release<&Api::hipHostUnregister>(device, writable(data));
}

}  // namespace hiptool
