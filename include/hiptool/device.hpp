// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "hiptool/export.hpp"
#include "hiptool/platform.hpp"

namespace hiptool {

namespace core {
struct Access;
struct PlatformState;
}  // namespace core

/// Properties of a device; one that the runtime does not report is absent, never zero.
struct DeviceInfo {
  std::string name;
  std::string arch;                       ///< "gfx942", "sm_90", "x86_64"
  std::optional<std::string> uuid;        ///< as the vendor's tools write it, "GPU-..."
  std::optional<std::string> pci_bus_id;  ///< "0000:65:00.0", lower case
  std::optional<std::uint64_t> memory_total_bytes;
  std::optional<std::uint64_t> compute_units;  ///< multiprocessors; on RDNA the CUs, not the WGPs
  std::optional<std::uint64_t> warp_size;
  std::optional<std::uint64_t> clock_hz;
  std::optional<std::uint64_t> memory_clock_hz;
  std::optional<std::uint64_t> memory_bus_width_bits;
  std::optional<std::uint64_t> l2_cache_bytes;
  std::optional<std::uint64_t> max_threads_per_block;
  std::optional<std::uint64_t> shared_memory_per_block_bytes;
  std::optional<bool> integrated;
  std::optional<bool> ecc_enabled;
};

/// Memory of a device at one moment.
struct MemoryInfo {
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;
};

/// One device of one platform: a cheap value. Two Devices are equal when platform and ordinal are.
///
/// Once a call on a device failed with a sticky error (illegal address, launch failure, assert, ECC
/// and the like, see Error::is_recoverable), the process cannot use that device any more (HIP API
/// reference, hipErrorIllegalAddress; cuda.h, CUDA_ERROR_ILLEGAL_ADDRESS). Every later call on it,
/// through any object of the same Platforms, then throws Error(device_lost) with the native error
/// and the text of the first failure and does not call the runtime; only releases still do. Other
/// devices are not affected.
class HIPTOOL_API Device {
 public:
  // A move copies, so that objects which were moved from still name their device.
  Device(const Device&) = default;
  Device& operator=(const Device&) = default;

  [[nodiscard]] Platform platform() const noexcept;
  /// The number in the id: the runtime's, or see Platforms::Options::nvidia_ordinals.
  [[nodiscard]] int ordinal() const noexcept;

  /// "nvidia:0".
  [[nodiscard]] std::string id() const;

  /// Reads the properties. Starts no context on a GPU; does not block on queued work. Throws only
  /// Error(device_lost), on a device that was lost before.
  [[nodiscard]] DeviceInfo info() const;

  /// Free and total memory. Creates the device's context where there is none (on NVIDIA about 0.1 s
  /// and 0.5 GB of its memory). Throws the runtime's error, such as Error(device).
  [[nodiscard]] MemoryInfo memory() const;

  /// Starts the device for this process (primary context), so that later calls are fast. Blocks.
  void start() const;

  /// True where the host can read and write device memory in place (the cpu platform).
  [[nodiscard]] bool is_host_memory() const noexcept;

  /// The runtime's ordinal, for hipSetDevice or cuDeviceGet.
  [[nodiscard]] int native_handle() const noexcept { return ordinal_; }

  friend bool operator==(const Device& left, const Device& right) noexcept;

 private:
  friend struct core::Access;
  Device(std::shared_ptr<const core::PlatformState> state, int ordinal);

  std::shared_ptr<const core::PlatformState> state_;
  int ordinal_;
};

/// Makes a device current for the calling thread and puts the previous one back at the end of the
/// scope, also when an exception passes. Every entry of the library uses one.
class HIPTOOL_API DeviceGuard {
 public:
  /// Throws Error(device) naming hipSetDevice if the device cannot be made current.
  explicit DeviceGuard(const Device& device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  Device device_;
  int previous_ = -1;
};

/// Finds a device by "amd:0", "cpu" (= "cpu:0"), uuid or PCI bus id. Opens only the platform named;
/// uuid and bus id open all. Throws Error(unavailable) with the platform's reason when it is not
/// usable or the device is absent, and Error(invalid_argument) for text that can be neither.
[[nodiscard]] HIPTOOL_API Device find_device(Platforms& platforms, std::string_view id);

/// The device used when the caller names none: the discrete GPU with the most memory over all
/// platforms (at most 5 % less counts as equal: then the lowest ordinal), an integrated one only
/// where no discrete one is usable; cpu:0 only where the machine shows no GPU hardware. GPU
/// hardware that is seen, while no GPU is usable, is Error(unavailable) with the reason.
[[nodiscard]] HIPTOOL_API Device default_device(Platforms& platforms);

// Access of one device to the memory of another of the same platform, for the whole process, until
// it is disabled. copy_peer() works without it too, only slower where the runtime then goes through
// the host. Error(invalid_argument) for devices of different platforms; none of them blocks on
// queued work.

/// Whether the device can reach the peer's memory; false for a device and itself. Throws the
/// runtime's error.
[[nodiscard]] HIPTOOL_API bool can_access_peer(const Device& device, const Device& peer);

/// Lets the device reach the peer's memory. False when it could already (hipErrorPeerAccess-
/// AlreadyEnabled): other code in the process has enabled it and may rely on it. Throws the
/// runtime's error otherwise, such as Error(device) with hipErrorInvalidDevice for a device and
/// itself.
HIPTOOL_API bool enable_peer_access(const Device& device, const Device& peer);

/// Takes the access back. False when there was none (hipErrorPeerAccessNotEnabled).
HIPTOOL_API bool disable_peer_access(const Device& device, const Device& peer);

}  // namespace hiptool
