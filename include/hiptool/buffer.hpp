// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <memory>

#include "hiptool/device.hpp"
#include "hiptool/export.hpp"

namespace hiptool {

/// Device memory: a shared allocation with an offset and a size. Copying a Buffer shares the
/// allocation; a view keeps its parent's allocation alive; it is freed once, on its own device,
/// when the last Buffer on it goes. A failing free goes to the trace.
class HIPTOOL_API Buffer {
 public:
  /// An empty buffer on no device: size 0, null address.
  Buffer() = default;
  Buffer(const Buffer&) = default;
  Buffer& operator=(const Buffer&) = default;
  /// A moved-from Buffer is an empty one on no device.
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  /// Allocates. Size 0 makes no runtime call and has a null address. Throws Error(out_of_memory)
  /// with the free and total memory, or Error(device).
  Buffer(const Device& device, std::size_t size_bytes);

  /// Borrows native device memory of the caller, who keeps it alive and frees it. An owner, if one
  /// is given, is released with the last Buffer on the memory, on that Buffer's thread; its
  /// destructor must not throw. Throws Error(invalid_argument) for a null address with a size.
  [[nodiscard]] static Buffer borrow_native(const Device& device, void* address,
                                            std::size_t size_bytes,
                                            std::shared_ptr<const void> owner = nullptr);

  /// Part of this buffer. Throws Error(out_of_bounds) unless offset <= size and
  /// size_bytes <= size - offset.
  [[nodiscard]] Buffer view(std::size_t offset_bytes, std::size_t size_bytes) const;

  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_bytes_; }
  [[nodiscard]] bool is_empty() const noexcept { return size_bytes_ == 0; }
  /// Device address of the first byte, null if empty.
  [[nodiscard]] void* address() const noexcept;
  [[nodiscard]] void* native_handle() const noexcept { return address(); }
  /// False for a default-made and a moved-from buffer.
  [[nodiscard]] bool has_device() const noexcept { return allocation_ != nullptr; }
  /// The device. Throws Error(invalid_argument) for a buffer that is on none.
  [[nodiscard]] const Device& device() const;

 private:
  struct Allocation;
  std::shared_ptr<const Allocation> allocation_;
  std::size_t offset_bytes_ = 0;
  std::size_t size_bytes_ = 0;
};

}  // namespace hiptool
