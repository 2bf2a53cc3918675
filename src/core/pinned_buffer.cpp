// SPDX-License-Identifier: MIT
#include "hiptool/pinned_buffer.hpp"

#include <utility>

#include "core/call.hpp"
#include "hiptool/units.hpp"

namespace hiptool {

using core::call_for_host_memory;
using hip::Api;

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

}  // namespace hiptool
