// SPDX-License-Identifier: MIT
#include "hiptool/buffer.hpp"

#include <utility>

#include "base/text.hpp"
#include "base/units.hpp"
#include "core/call.hpp"

namespace hiptool {
namespace {

using hip::Api;

Error allocation_error(const Device& device, std::size_t size_bytes, hip::hipError_t error) {
  std::string detail;
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  if (error == hip::hipErrorOutOfMemory &&
      core::query<&Api::hipMemGetInfo>(device, &free_bytes, &total_bytes)) {
    detail = format_size(free_bytes) + " of " + format_size(total_bytes) + " are free";
  }
  return core::call_error(device, "hipMalloc", error, format_size(size_bytes), detail);
}

}  // namespace

struct Buffer::Allocation {
  Device device;
  void* address = nullptr;
  bool owned = false;
  std::shared_ptr<const void> owner;  // of memory that is not owned here

  Allocation(const Device& on, void* at, bool is_owned, std::shared_ptr<const void> by = nullptr)
      : device(on), address(at), owned(is_owned), owner(std::move(by)) {}
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  ~Allocation() {
    if (!owned || address == nullptr) return;
    const core::QuietDeviceGuard guard(device);
    core::release<&Api::hipFree>(device, address);
  }
};

Buffer::Buffer(const Device& device, std::size_t size_bytes) : size_bytes_(size_bytes) {
  auto allocation = std::make_shared<Allocation>(device, nullptr, true);
  if (size_bytes > 0) {
    const DeviceGuard guard(device);
    const hip::hipError_t error = core::api_of(device).hipMalloc(&allocation->address, size_bytes);
    if (error != hip::hipSuccess) {
      allocation->address = nullptr;
      throw allocation_error(device, size_bytes, error);
    }
  }
  allocation_ = std::move(allocation);
}

Buffer::Buffer(Buffer&& other) noexcept
    : allocation_(std::move(other.allocation_)),
      offset_bytes_(std::exchange(other.offset_bytes_, 0)),
      size_bytes_(std::exchange(other.size_bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    allocation_ = std::move(other.allocation_);
    offset_bytes_ = std::exchange(other.offset_bytes_, 0);
    size_bytes_ = std::exchange(other.size_bytes_, 0);
  }
  return *this;
}

Buffer Buffer::borrow_native(const Device& device, void* address, std::size_t size_bytes,
                             std::shared_ptr<const void> owner) {
  if (address == nullptr && size_bytes > 0) {
    throw Error(ErrorCode::invalid_argument, "wrap buffer", "a null address is not accepted");
  }
  Buffer buffer;
  buffer.allocation_ = std::make_shared<Allocation>(device, address, false, std::move(owner));
  buffer.size_bytes_ = size_bytes;
  return buffer;
}

Buffer Buffer::view(std::size_t offset_bytes, std::size_t size_bytes) const {
  if (offset_bytes > size_bytes_ || size_bytes > size_bytes_ - offset_bytes) {
    throw Error(ErrorCode::out_of_bounds, "view buffer",
                "a view of " + base::plain_count_of(size_bytes, "byte") + " at " +
                    std::to_string(offset_bytes) + " does not fit a buffer of " +
                    base::plain_count_of(size_bytes_, "byte"));
  }
  Buffer part = *this;
  part.offset_bytes_ += offset_bytes;
  part.size_bytes_ = size_bytes;
  return part;
}

void* Buffer::address() const noexcept {
  if (size_bytes_ == 0) return nullptr;
  return static_cast<std::byte*>(allocation_->address) + offset_bytes_;
}

const Device& Buffer::device() const {
  if (allocation_ == nullptr) {
    throw Error(ErrorCode::invalid_argument, "find device", "the buffer is on no device");
  }
  return allocation_->device;
}

}  // namespace hiptool
