// SPDX-License-Identifier: MIT
#include "hiptool/registered_memory.hpp"

#include <utility>

#include "core/call.hpp"
#include "hiptool/units.hpp"

namespace hiptool {
namespace {

using hip::Api;

unsigned flags_of(const Device& device, RegisteredMemory::Access access) {
  const bool is_read_only = access == RegisteredMemory::Access::read_only;
  return is_read_only && device.platform() == Platform::nvidia ? hip::hipHostRegisterReadOnly
                                                               : hip::hipHostRegisterDefault;
}

void* address_of(std::span<const std::byte> memory) {
  return const_cast<std::byte*>(memory.data());  // the call writes nothing to it
}

}  // namespace

RegisteredMemory::RegisteredMemory(const Device& device, std::span<const std::byte> memory,
                                   Access access)
    : device_(device) {
  if (memory.empty()) return;
  const DeviceGuard guard(device_);
  core::call_for_host_memory<&Api::hipHostRegister>(device_, format_size(memory.size()),
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
