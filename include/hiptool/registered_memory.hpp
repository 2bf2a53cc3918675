// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <span>

#include "hiptool/device.hpp"
#include "hiptool/export.hpp"

namespace hiptool {

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
  ~RegisteredMemory();
  RegisteredMemory(RegisteredMemory&& other) noexcept;
  RegisteredMemory& operator=(RegisteredMemory&& other) noexcept;

  std::span<const std::byte> bytes() const noexcept { return memory_; }
  const Device& device() const noexcept { return device_; }

 private:
  void unregister() noexcept;

  Device device_;
  std::span<const std::byte> memory_;  // empty: nothing is registered
};

}  // namespace hiptool
