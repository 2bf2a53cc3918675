// SPDX-License-Identifier: MIT
/// The diagnosis of a machine with GPUs: findings, their sources and fixes. Nothing here opens a
/// driver; the results of the runtimes are passed in.
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
#include "machine/severity.hpp"
#include "system/pci.hpp"
#include "system/pci_path.hpp"

namespace hiptool::machine {

/// The result of one check. One that could not be made is unknown, never pass.
struct Check {
  std::string id;  ///< "link-down"
  Severity severity = Severity::unknown;
  std::string device;     ///< "amd:0"; empty: the machine, or unknown
  std::string read;       ///< the finding
  std::string source;     ///< the file, library or variable of the finding; never empty
  std::string expected;   ///< may be empty
  std::string fix;        ///< what to type; never empty for warn, fail and unknown
  std::string code = {};  ///< of warn and fail: "HT-LINK-DOWN"; empty in a CheckList: the id's
  bool is_moot = false;   ///< unknown, because the machine lacks what it is about
};

/// How a platform's driver answered the query of its devices.
struct PlatformAnswer {
  enum class Kind { answered, hung, crashed, not_asked };
  PlatformStatus status;
  Kind kind = Kind::not_asked;
  double after_s = 0;
  std::string detail;     ///< "was ended by signal 11 (Segmentation fault)"
  bool was_late = false;  ///< a call took longer than the patience, while the disk was read
};

/// A GPU with the facts of the bus, the runtime and the sensors.
struct DoctorGpu {
  Platform platform = Platform::amd;
  std::string id;  ///< "amd:0"; empty if only the bus lists it
  DeviceInfo info;
  std::optional<MemoryInfo> memory;  ///< absent if the query would start the device
  std::optional<system::PciDevice> pci;
  std::optional<system::PciPath> path_under_load;  ///< the fastest seen while copies ran
  hip::SensorReading sensors;
  std::string sensor_source;  ///< "libnvidia-ml.so.1, driver 580.1"; empty without sensors
  std::string sensor_reason;  ///< why there are none

  /// The id, else the bus id.
  std::string name() const { return !id.empty() || !pci ? id : pci->bus_id; }
};

/// Access of one device to the memory of another.
struct PeerAnswer {
  std::string from;
  std::string to;
  bool can_access = false;
  std::optional<bool> is_copy_right;  ///< the copied bytes arrived; absent: not tried
};

/// A vendor's library for products or convolutions, as its platform's process found it.
struct LibraryAnswer {
  Platform platform = Platform::amd;
  std::string name;                  ///< "rocBLAS"
  std::string path;                  ///< empty if none was found; also of a refused one
  std::string version;               ///< empty: not reported
  std::string reason;                ///< why it is missing; empty: it can be used
  std::vector<std::string> targets;  ///< that it has kernels for; empty: unknown
  double load_s = 0;                 ///< that loading took; of one that was given up, so far
  bool was_given_up = false;         ///< it did not load within the patience
};

/// The input of the checks, apart from files below `root`.
struct Evidence {
  std::filesystem::path root = "/";
  std::function<std::optional<std::string>(const char* name)> getenv;
  std::vector<PlatformAnswer> platforms;
  std::vector<DoctorGpu> gpus;
  std::vector<PeerAnswer> peers;
  std::vector<LibraryAnswer> libraries;
  std::vector<int> allowed_cpus;
  std::function<int(const std::filesystem::path&)> open_node;  ///< 0 or errno, system::try_open
};

/// "CUDA_VISIBLE_DEVICES=0,1": the variables that are set and choose GPUs of the platform, with
/// commas; empty: none.
std::string visibility_variables(
    const std::function<std::optional<std::string>(const char* name)>& getenv, Platform platform);

/// Adds the GPUs of the bus that are not in the list of runtime devices.
void add_hardware(Evidence& evidence);

/// Results of all checks in the order of check_ids(); each id at least once.
std::vector<Check> examine(const Evidence& evidence);

/// All ids in the order of the diagnosis.
const std::vector<std::string_view>& check_ids();

}  // namespace hiptool::machine
