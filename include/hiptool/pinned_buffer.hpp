// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "hiptool/device.hpp"
#include "hiptool/export.hpp"

namespace hiptool {

/// Anonymous memory of the host in huge pages that are there already, so that a PinnedBuffer made
/// of it has only to be registered. It needs no device: it can be made while a driver starts.
class HIPTOOL_API HostMemory {
 public:
  /// Blocks while `threads` threads, at most one per processor, touch the pages (about 0.2 ms a MiB
  /// with one). Throws Error(host_out_of_memory). Size 0 has a null address.
  explicit HostMemory(std::size_t size_bytes, std::uint32_t threads = 1);

  [[nodiscard]] std::byte* data() noexcept { return data_.get(); }
  [[nodiscard]] const std::byte* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::size_t size_bytes() const noexcept {
    return data_ ? data_.get_deleter().size_bytes : 0;
  }
  /// The size in whole huge pages, all of which are there.
  [[nodiscard]] std::size_t mapped_bytes() const noexcept;

 private:
  struct Unmap {
    std::size_t size_bytes = 0;
    HIPTOOL_API void operator()(std::byte* data) const noexcept;
  };

  std::unique_ptr<std::byte, Unmap> data_;
};

/// Host memory that a device can copy from and to at full rate. Owning and move-only.
class HIPTOOL_API PinnedBuffer {
 public:
  enum class Method {
    runtime,  ///< the runtime allocates it (hipHostMalloc)
    /// huge-page anonymous memory of ours, touched and then registered: pins several times faster
    /// (16 MiB in 3.5 ms against 6.8 ms on one H200 machine)
    registered,
  };

  /// Blocks while pages are touched and pinned. Size 0 makes no runtime call. Throws
  /// Error(host_out_of_memory) or Error(device) naming the call.
  PinnedBuffer(const Device& device, std::size_t size_bytes, Method method = Method::runtime);
  /// Registers memory that was touched already and keeps it. Throws as above.
  PinnedBuffer(const Device& device, HostMemory memory);

  [[nodiscard]] std::span<std::byte> bytes() noexcept { return {data(), size_bytes()}; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data(), size_bytes()}; }
  [[nodiscard]] std::byte* data() noexcept { return data_.get(); }
  [[nodiscard]] const std::byte* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::size_t size_bytes() const noexcept {
    return data_ ? data_.get_deleter().size_bytes : 0;
  }
  [[nodiscard]] const Device& device() const noexcept { return data_.get_deleter().device; }

 private:
  struct Unpin {
    Device device;
    std::size_t size_bytes = 0;
    std::optional<HostMemory> memory = {};  // that is registered; none: the runtime's
    HIPTOOL_API void operator()(std::byte* data) const noexcept;
  };

  std::unique_ptr<std::byte, Unpin> data_;
};

/// Pins host memory of the caller for a while, so that a device can copy from and to it at full
/// rate. Owning and move-only; a failing unregistration goes to the trace.
class HIPTOOL_API RegisteredMemory {
 public:
  enum class Access {
    read_write,
    /// The device only reads. NVIDIA needs this for pages that are mapped without write permission
    /// (CU_MEMHOSTREGISTER_READ_ONLY, cuda.h); elsewhere the same as read_write (on AMD the flag of
    /// that number means another thing).
    read_only,
  };

  /// Blocks while the pages are pinned. The memory must stay mapped as long as this object lives.
  /// An empty span makes no runtime call. Throws Error(host_out_of_memory) or Error(device) naming
  /// the call. Register a range once: NVIDIA's driver refuses a second registration, while AMD's
  /// runtime accepts it and ends both with the first unregistration.
  RegisteredMemory(const Device& device, std::span<const std::byte> memory,
                   Access access = Access::read_write);

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    return {data_.get(), data_ ? data_.get_deleter().size_bytes : 0};
  }
  [[nodiscard]] const Device& device() const noexcept { return data_.get_deleter().device; }

 private:
  struct Unregister {
    Device device;
    std::size_t size_bytes = 0;
    HIPTOOL_API void operator()(const std::byte* data) const noexcept;
  };

  std::unique_ptr<const std::byte, Unregister> data_;  // null: nothing is registered
};

}  // namespace hiptool
