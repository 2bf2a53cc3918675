// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <optional>
#include <span>

#include "hiptool/device.hpp"
#include "hiptool/export.hpp"
#include "hiptool/host_memory.hpp"

namespace hiptool {

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
  ~PinnedBuffer();
  PinnedBuffer(PinnedBuffer&& other) noexcept;
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept;

  std::span<std::byte> bytes() const noexcept { return {data_, size_bytes_}; }
  std::byte* data() const noexcept { return data_; }
  std::size_t size_bytes() const noexcept { return size_bytes_; }
  const Device& device() const noexcept { return device_; }

 private:
  void pin(HostMemory memory);
  void free() noexcept;

  Device device_;
  std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
  std::optional<HostMemory> memory_;  // of ours; none: the runtime's
};

}  // namespace hiptool
