// SPDX-License-Identifier: MIT
/// The platforms, devices and GPU hardware of a machine, read once.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hip/sensors.hpp"
#include "hiptool/cancel.hpp"
#include "hiptool/device.hpp"
#include "hiptool/platform.hpp"
#include "system/pci.hpp"
#include "system/pci_path.hpp"

namespace hiptool::machine {

struct DeviceFacts {
  std::string id;
  Platform platform = Platform::cpu;
  int ordinal = 0;
  DeviceInfo info;
  std::optional<MemoryInfo> memory;  ///< absent where the query would create a context
  std::optional<system::PciDevice> pci;
  system::PciPath path;                       ///< up to its root port; empty if unknown
  std::optional<hip::SensorReading> sensors;  ///< absent if not read or not available
  std::string sensors_source;                 ///< "sysfs of amdgpu"; empty without sensors
  std::string sensors_missing;                ///< the reason why there are none
};

struct Inventory {
  std::vector<PlatformStatus> platforms;
  std::vector<DeviceFacts> devices;
  std::vector<system::PciDevice> hardware;  ///< GPUs on the bus, usable or not
};

/// Reads the sensors of devices repeatedly, opening the sensors of a platform once. Starts no
/// device.
class SensorReader {
 public:
  /// `cancel` outlives the reader; null: nothing cuts readings short.
  explicit SensorReader(std::filesystem::path root, const CancelToken* cancel = nullptr)
      : root_(std::move(root)), cancel_(cancel) {}

  /// Fills the three fields about sensors; this process is not among its processes. Blocks for some
  /// milliseconds, while the driver does not respond for hip::sensor_patience, or shortly where
  /// `cancel` is set; never throws for sensors that a device lacks.
  void read(DeviceFacts& device);

  /// Whether `cancel` ended a reading before its time.
  bool was_cut_short() const noexcept { return was_cut_short_; }

 private:
  std::filesystem::path root_;
  const CancelToken* cancel_;
  bool was_cut_short_ = false;
  std::map<Platform, hip::SensorLibrary> libraries_;
};

/// Fills `pci` and `path` by the bus id that the runtime reports.
void read_pci(const std::filesystem::path& root, DeviceFacts& facts);

/// Reads one device. A query that fails leaves its field absent and a note in the trace.
DeviceFacts read_facts(const Device& device, const std::filesystem::path& root, TraceSink& trace);

/// Opens all platforms, or the given one, and reads their devices. Checks `cancel` between devices
/// and throws Error(cancelled).
Inventory take_inventory(Platforms& platforms, std::optional<Platform> only,
                         const std::filesystem::path& root, TraceSink& trace,
                         const CancelToken& cancel);

/// The slowest PCIe link between the device and the processor, at its current and at its maximum
/// speed. On a board with its own switch the device's own link is faster than that.
system::PciLink link_of(const DeviceFacts& device);

/// Peak of that link in one direction, in bytes per second; absent if unknown.
std::optional<double> link_peak_bytes_per_s(const DeviceFacts& device);

}  // namespace hiptool::machine
