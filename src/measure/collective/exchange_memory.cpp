// SPDX-License-Identifier: MIT
#include "measure/collective/exchange_memory.hpp"

#include <utility>

#include "base/units.hpp"
#include "core/call.hpp"

namespace hiptool::measure {
namespace {

struct FreeDeviceMemory {
  Device device;
  void* address = nullptr;

  FreeDeviceMemory(const Device& of, void* memory) : device(of), address(memory) {}
  FreeDeviceMemory(const FreeDeviceMemory&) = delete;
  FreeDeviceMemory& operator=(const FreeDeviceMemory&) = delete;
  ~FreeDeviceMemory() {
    const core::QuietDeviceGuard guard(device);
    core::release<&hip::Api::hipFree>(device, address);
  }
};

}  // namespace

std::uint64_t device_address_of(const Device& device, std::byte* host) {
  const DeviceGuard guard(device);
  void* address = nullptr;
  const bool has_own = core::query<&hip::Api::hipHostGetDevicePointer>(
      device, &address, static_cast<void*>(host), 0u);
  return reinterpret_cast<std::uint64_t>(has_own ? address : host);
}

SharedHostMemory::SharedHostMemory(const Device& device, std::size_t size_bytes)
    : size_bytes_(size_bytes), data_(nullptr, Free{device}) {
  const DeviceGuard guard(device);
  void* pointer = nullptr;
  core::call_for_host_memory<&hip::Api::hipHostMalloc>(
      device, format_size(size_bytes), &pointer, size_bytes,
      hip::hipHostMallocPortable | hip::hipHostMallocMapped);
  data_.reset(static_cast<std::byte*>(pointer));
}

std::span<std::uint32_t> SharedHostMemory::words() const noexcept {
  return {reinterpret_cast<std::uint32_t*>(data_.get()), size_bytes_ / sizeof(std::uint32_t)};
}

std::uint64_t SharedHostMemory::address_on(const Device& device) const {
  return device_address_of(device, data_.get());
}

void SharedHostMemory::Free::operator()(std::byte* data) const noexcept {
  const core::QuietDeviceGuard guard(device);
  core::release<&hip::Api::hipHostFree>(device, static_cast<void*>(data));
}

Buffer make_exchange_buffer(const Device& device, std::size_t size_bytes) {
  {
    const DeviceGuard guard(device);
    for (const unsigned flags : {hip::hipDeviceMallocUncached, hip::hipDeviceMallocFinegrained}) {
      void* address = nullptr;
      if (!core::query<&hip::Api::hipExtMallocWithFlags>(device, &address, size_bytes, flags))
        continue;
      const auto owner = std::make_shared<FreeDeviceMemory>(device, address);
      return Buffer::borrow_native(device, address, size_bytes, owner);
    }
  }
  return Buffer(device, size_bytes);
}

PeerAccesses::~PeerAccesses() {
  for (const auto& [device, peer] : enabled_) {
    const core::QuietDeviceGuard guard(device);
    core::release<&hip::Api::hipDeviceDisablePeerAccess>(device, peer.native_handle());
  }
}

std::string PeerAccesses::refusal(const std::vector<Device>& devices) {
  for (const Device& device : devices) {
    for (const Device& peer : devices) {
      if (device == peer || can_access_peer(device, peer)) continue;
      return device.id() + " has no access to the memory of " + peer.id();
    }
  }
  return {};
}

void PeerAccesses::enable(const std::vector<Device>& devices) {
  for (const Device& device : devices) {
    for (const Device& peer : devices) {
      if (device == peer) continue;
      if (enable_peer_access(device, peer)) enabled_.emplace_back(device, peer);
    }
  }
}

ExchangeRank::ExchangeRank(const Device& of, Kernel run)
    : device(of), kernel(std::move(run)), stream(of), started(of), ended(of) {}

}  // namespace hiptool::measure
