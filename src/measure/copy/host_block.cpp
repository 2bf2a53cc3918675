// SPDX-License-Identifier: MIT
#include "measure/copy/host_block.hpp"

#include "base/units.hpp"
#include "core/call.hpp"

namespace hiptool::measure {
namespace {

using hip::Api;

constexpr std::size_t page_bytes = 4096;
constexpr unsigned attach_global =
    1;  // hipMemAttachGlobal: any device may use it (HIP API reference)

}  // namespace

HostBlock::HostBlock(const Device& device, HostKind kind, std::size_t size_bytes)
    : device_(device), kind_(kind) {
  if (kind == HostKind::pinned) {
    pinned_.emplace(device, size_bytes);
    bytes_ = pinned_->bytes();
    return;
  }
  if (kind == HostKind::managed) {
    allocate_managed(size_bytes);
    return;
  }
  pageable_.reset(
      std::aligned_alloc(page_bytes, (size_bytes + page_bytes - 1) & ~(page_bytes - 1)));
  if (!pageable_) {
    throw Error(ErrorCode::host_out_of_memory, "allocate",
                "no " + format_size(size_bytes) + " of host memory", "use a smaller --size");
  }
  bytes_ = {static_cast<std::byte*>(pageable_.get()), size_bytes};
  if (kind == HostKind::registered) registered_.emplace(device, bytes_);
}

HostBlock::~HostBlock() {
  if (kind_ != HostKind::managed) return;
  const core::QuietDeviceGuard guard(device_);
  core::release<&Api::hipFree>(device_, static_cast<void*>(bytes_.data()));
}

void HostBlock::allocate_managed(std::size_t size_bytes) {
  const DeviceGuard guard(device_);
  void* memory = nullptr;
  core::call<&Api::hipMallocManaged>(device_, format_size(size_bytes), &memory, size_bytes,
                                     attach_global);
  bytes_ = {static_cast<std::byte*>(memory), size_bytes};
}

std::span<std::uint32_t> HostBlock::words() const noexcept {
  return {reinterpret_cast<std::uint32_t*>(bytes_.data()), bytes_.size() / sizeof(std::uint32_t)};
}

std::byte* HostBlock::device_address() const {
  if (kind_ == HostKind::managed) return bytes_.data();
  const DeviceGuard guard(device_);
  void* address = nullptr;
  core::call<&Api::hipHostGetDevicePointer>(device_, "host memory", &address,
                                            static_cast<void*>(bytes_.data()), 0u);
  return static_cast<std::byte*>(address);
}

}  // namespace hiptool::measure
