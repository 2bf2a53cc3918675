// SPDX-License-Identifier: MIT
/// Sensors of a device, read by the vendor's monitoring library or from the kernel's files. Nothing
/// here starts a device or needs one to be usable.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/platform.hpp"

namespace hiptool::hip {

/// A process that uses a device.
struct DeviceProcess {
  std::uint64_t id = 0;
  std::string name;                           ///< from /proc/ID/comm; empty if it is not known
  std::optional<std::uint64_t> memory_bytes;  ///< of the device's memory

  friend bool operator==(const DeviceProcess&, const DeviceProcess&) = default;
};

/// One reading of a device. Values that could not be read are absent, never zero.
struct SensorReading {
  std::optional<double> clock_hz;  ///< of the multiprocessors, now
  std::optional<double> memory_clock_hz;
  std::optional<double> temperature_c;
  std::optional<double> memory_temperature_c;
  /// Of the memory: where the driver begins to lower its clocks, or calls it critical.
  std::optional<double> memory_temperature_limit_c;
  std::optional<double> power_w;
  std::optional<double> power_limit_w;
  std::optional<double> default_power_limit_w;
  std::optional<std::uint64_t> memory_used_bytes;  ///< by all processes and the driver
  std::optional<double> busy_share;                ///< of the last moments in which it computed
  /// Why clocks are throttled, as text; empty: they are not. Idle does not count.
  std::optional<std::vector<std::string>> throttle_reasons;
  std::optional<std::uint64_t> corrected_errors;    ///< of memory, since the driver was loaded
  std::optional<std::uint64_t> uncorrected_errors;  ///< the same
  /// Of the chip's other parts that have RAS: gfx, sdma, mmhub and so on; none on NVIDIA.
  std::optional<std::uint64_t> part_corrected_errors;
  std::optional<std::uint64_t> part_uncorrected_errors;
  std::optional<std::uint64_t> repairs;  ///< remapped rows, or pages of memory retired
  std::optional<bool> repair_pending;    ///< a reset will remap or retire memory
  std::optional<bool> repair_failed;
  std::optional<std::uint64_t> pcie_generation;  ///< of the link now
  std::optional<std::uint64_t> pcie_width;
  std::optional<std::uint64_t> pcie_replays;
  std::optional<std::uint64_t> host_visible_bytes;  ///< of device memory, through the PCI window
  std::optional<bool> persistence_enabled;
  std::optional<bool> partitioned;        ///< MIG, or a compute or memory partition other than one
  std::optional<std::uint64_t> links_up;  ///< NVLink or XGMI links that work
  /// Of all NVLinks replays and recoveries, of XGMI links uncorrected errors.
  std::optional<std::uint64_t> link_errors;
  /// Of all NVLinks packets with a wrong checksum, of XGMI links corrected errors.
  std::optional<std::uint64_t> link_corrected_errors;
  /// Bus ids at the far ends of the NVLinks that work: a switch's or another GPU's.
  std::optional<std::vector<std::string>> link_remotes;
  std::optional<std::vector<DeviceProcess>> processes;  ///< that compute on the device
  /// By open_patient_sensors() only: the driver did not respond, so all values are absent.
  bool has_timed_out = false;
};

/// The reason for missing values then.
inline constexpr const char* sensors_hang = "the sensors do not respond";

/// Whether a reason for throttling is the hardware's protection against heat or a power supply that
/// fails, not a limit that software sets.
bool is_hardware_slowdown(std::string_view throttle_reason) noexcept;

/// Whether it is a limit of temperature that software or firmware keeps, before the hardware does.
bool is_thermal_slowdown(std::string_view throttle_reason) noexcept;

/// The sensors of one platform.
class Sensors {
 public:
  virtual ~Sensors() = default;

  /// Where readings come from: the path of the library and the driver, or "sysfs of amdgpu".
  virtual const std::string& source() const noexcept = 0;

  /// Reads one device by its PCI bus id ("0000:65:00.0"); all absent for an unknown one. Takes some
  /// milliseconds; never throws for sensors that a device lacks.
  virtual SensorReading read(std::string_view pci_bus_id) = 0;

  /// Only what changes with the load: clocks, temperature, power and reasons for throttling; cheap
  /// enough to be read several times a second.
  virtual SensorReading read_load(std::string_view pci_bus_id) = 0;
};

/// The sensors, or the reason why they are missing.
struct SensorLibrary {
  std::unique_ptr<Sensors> sensors;
  std::string reason;
  /// By open_patient_sensors() only: the driver did not respond; `reason` is sensors_hang.
  bool has_timed_out = false;
};

/// Never throws for missing sensors. The kernel's files are read below `root`; cpu has
/// no sensors. Opening and reading block for ever if the driver hangs: see patient_sensors.hpp.
SensorLibrary open_sensors(Platform platform, const std::filesystem::path& root = "/");

namespace amd {
SensorLibrary open_sensors(const std::filesystem::path& root);
bool is_hardware_slowdown(std::string_view throttle_reason) noexcept;
}  // namespace amd
namespace nvidia {
/// By NVML; `library` is another one to open in its place.
SensorLibrary open_sensors(const std::string& library = {});
bool is_hardware_slowdown(std::string_view throttle_reason) noexcept;
}  // namespace nvidia

}  // namespace hiptool::hip
