// SPDX-License-Identifier: MIT
#include "measure/coherence/shared_memory.hpp"

#include "base/units.hpp"
#include "core/call.hpp"
#include "hiptool/error.hpp"

namespace hiptool::measure {
namespace {

bool has_attribute(const Device& device, hip::hipDeviceAttribute_t attribute) {
  int value = 0;
  return core::query<&hip::Api::hipDeviceGetAttribute>(device, &value, attribute,
                                                       device.native_handle()) &&
         value != 0;
}

}  // namespace

SharedMemory::SharedMemory(const Device& device, SharedMemoryKind kind, std::size_t size_bytes)
    : size_bytes_(size_bytes), managed_(nullptr, FreeManaged{device}) {
  switch (kind) {
    case SharedMemoryKind::pinned:
      pinned_.emplace(device, size_bytes);
      data_ = pinned_->data();
      device_address_ = reinterpret_cast<std::uint64_t>(data_);
      break;
    case SharedMemoryKind::registered:
      pinned_.emplace(device, size_bytes, PinnedBuffer::Method::registered);
      data_ = pinned_->data();
      device_address_ = device_address_of(device, data_);
      break;
    case SharedMemoryKind::mapped:
      mapped_.emplace(device, size_bytes);
      data_ = mapped_->data();
      device_address_ = mapped_->address_on(device);
      break;
    case SharedMemoryKind::managed: make_managed(device); break;
  }
}

void SharedMemory::make_managed(const Device& device) {
  if (!has_attribute(device, hip::hipDeviceAttributeManagedMemory)) {
    throw Error(ErrorCode::unsupported, "coherence", device.id() + " reports no managed memory");
  }
  is_concurrent_ = has_attribute(device, hip::hipDeviceAttributeConcurrentManagedAccess);
  const DeviceGuard guard(device);
  void* address = nullptr;
  core::call<&hip::Api::hipMallocManaged>(device, format_size(size_bytes_), &address, size_bytes_,
                                          hip::hipMemAttachGlobal);
  managed_.reset(static_cast<std::byte*>(address));
  data_ = managed_.get();
  device_address_ = reinterpret_cast<std::uint64_t>(address);
}

std::span<std::uint32_t> SharedMemory::words() const noexcept {
  return {reinterpret_cast<std::uint32_t*>(data_), size_bytes_ / sizeof(std::uint32_t)};
}

void SharedMemory::FreeManaged::operator()(std::byte* data) const noexcept {
  const core::QuietDeviceGuard guard(device);
  core::release<&hip::Api::hipFree>(device, static_cast<void*>(data));
}

}  // namespace hiptool::measure
