// SPDX-License-Identifier: MIT
#include "hiptool/pinned_buffer.hpp"

#include <sys/mman.h>

#include <utility>

#include "core/call.hpp"
#include "hiptool/units.hpp"

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

std::size_t mapped_bytes(std::size_t size_bytes) {
  return (size_bytes + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
}

// Anonymous memory aligned to huge pages; the surplus of the alignment is given back.
std::byte* map_huge(std::size_t size_bytes) {
  const std::size_t wanted = mapped_bytes(size_bytes);
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

// Pages must be there before they are pinned.
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

}  // namespace

PinnedBuffer::PinnedBuffer(const Device& device, std::size_t size_bytes, Method method)
    : device_(device), size_bytes_(size_bytes), method_(method) {
  if (size_bytes == 0) return;
  const DeviceGuard guard(device_);
  const std::string subject = format_size(size_bytes);
  if (method == Method::runtime) {
    void* pointer = nullptr;
    call_for_host_memory<&Api::hipHostMalloc>(device_, subject, &pointer, size_bytes,
                                              hip::hipHostMallocDefault);
    data_ = static_cast<std::byte*>(pointer);
    return;
  }
  std::byte* data = map_huge(size_bytes);
  touch(data, mapped_bytes(size_bytes));
  const hip::hipError_t error =
      device_.api().hipHostRegister(data, mapped_bytes(size_bytes), hip::hipHostRegisterDefault);
  if (error != hip::hipSuccess) {
    munmap(data, mapped_bytes(size_bytes));
    throw core::host_memory_error(device_, "hipHostRegister", error, subject);
  }
  data_ = data;
}

PinnedBuffer::~PinnedBuffer() { free(); }

PinnedBuffer::PinnedBuffer(PinnedBuffer&& other) noexcept
    : device_(other.device_),
      data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)),
      method_(other.method_) {}

PinnedBuffer& PinnedBuffer::operator=(PinnedBuffer&& other) noexcept {
  if (this != &other) {
    free();
    device_ = other.device_;
    data_ = std::exchange(other.data_, nullptr);
    size_bytes_ = std::exchange(other.size_bytes_, 0);
    method_ = other.method_;
  }
  return *this;
}

void PinnedBuffer::free() noexcept {
  if (data_ == nullptr) return;
  const core::QuietDeviceGuard guard(device_);
  if (method_ == Method::runtime) {
    core::release<&Api::hipHostFree>(device_, static_cast<void*>(data_));
  } else {
    core::release<&Api::hipHostUnregister>(device_, static_cast<void*>(data_));
    munmap(data_, mapped_bytes(size_bytes_));
  }
  data_ = nullptr;
}

}  // namespace hiptool
