// SPDX-License-Identifier: MIT
/// The diagnosis of a machine with GPUs: what is wrong, from where that was read and what to do.
/// Nothing here opens a driver; what the runtimes say is handed in.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hip/sensors.hpp"
#include "hiptool/device.hpp"
#include "hiptool/platform.hpp"
#include "system/pci.hpp"
#include "system/pci_path.hpp"

namespace hiptool::measure {

enum class Severity { pass, info, warn, fail, unknown };

/// "pass", "info", "warn", "fail" or "unknown".
std::string_view to_string(Severity severity) noexcept;

/// One thing that was looked at, or that could not be: then it is unknown, never pass.
struct Check {
  std::string id;  ///< "link-down"
  Severity severity = Severity::unknown;
  std::string device;    ///< "amd:0"; empty: the machine, or unknown
  std::string read;      ///< what was found
  std::string source;    ///< the file, library or variable that said so; never empty
  std::string expected;  ///< may be empty
  std::string fix;       ///< what to type; never empty for warn, fail and unknown
};

/// How a platform's driver answered when it was asked for its devices.
struct PlatformAnswer {
  enum class Kind { answered, hung, crashed, not_asked };
  PlatformStatus status;
  Kind kind = Kind::not_asked;
  double after_s = 0;
  std::string detail;  ///< "was ended by signal 11 (Segmentation fault)"
};

/// A GPU as the bus, the runtime and the sensors know it.
struct DoctorGpu {
  Platform platform = Platform::amd;
  std::string id;  ///< "amd:0"; empty for one that only the bus shows
  DeviceInfo info;
  std::optional<MemoryInfo> memory;  ///< absent where asking would start the device
  std::optional<system::PciDevice> pci;
  std::optional<system::PciPath> path_under_load;  ///< the fastest seen while copies ran
  hip::SensorReading sensors;
  std::string sensor_source;  ///< "libnvidia-ml.so.1, driver 580.1"; empty without sensors
  std::string sensor_reason;  ///< why there are none

  /// What people call it: the id, else the bus id.
  std::string name() const { return !id.empty() || !pci ? id : pci->bus_id; }
};

/// What one device answered about the memory of another.
struct PeerAnswer {
  std::string from;
  std::string to;
  bool can_access = false;
  std::optional<bool> is_copy_right;  ///< bytes that were copied arrived; absent: not tried
};

/// All that the checks look at, apart from files below `root`.
struct Evidence {
  std::filesystem::path root = "/";
  std::function<std::optional<std::string>(const char* name)> getenv;
  std::vector<PlatformAnswer> platforms;
  std::vector<DoctorGpu> gpus;
  std::vector<PeerAnswer> peers;
  std::vector<int> allowed_cpus;
  std::function<int(const std::filesystem::path&)> open_node;  ///< 0 or errno, system::try_open
};

/// GPUs on the bus that no runtime device of the list stands for are added to it.
void add_hardware(Evidence& evidence);

/// Every check, by the order of check_ids(); each id at least once.
std::vector<Check> examine(const Evidence& evidence);

/// All ids in the order of the diagnosis.
const std::vector<std::string_view>& check_ids();

}  // namespace hiptool::measure
