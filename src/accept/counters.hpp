// SPDX-License-Identifier: MIT
/// Error counters around a stage: which grew, and what that means.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "accept/check.hpp"
#include "hip/sensors.hpp"
#include "hiptool/platform.hpp"
#include "system/aer.hpp"
#include "system/kernel_log.hpp"

namespace hiptool::accept {

/// The counters of a device at one moment.
struct DeviceCounters {
  Platform platform = Platform::nvidia;
  std::string bus_id;
  hip::SensorReading sensors;
  std::vector<system::AerCounts> ports;  ///< from the device to the root port
  std::string reason;                    ///< why there are no sensors
};

/// Those of all devices, and the kernel's log.
struct CounterSnapshot {
  std::map<std::string, DeviceCounters> devices;  ///< by id
  std::optional<std::vector<system::KernelMessage>> log;
};

/// PCIe links of good machines repeat a transfer now and then; NVIDIA takes more than 8 in a minute
/// for a fault (DCGM, dcgm_gpu_hardware_limits.h).
inline constexpr double most_replays_per_minute = 8;
/// The same of wrong checksums of NVLink: at 100 in a second they matter.
inline constexpr double most_crc_errors_per_s = 100;

/// What happened between two readings that are `time_s` apart, device by device: errors that were
/// not corrected, errors of links and faults in the kernel's log refuse (severity fail); corrected
/// ones warn with their rate. A counter that is absent in either reading is not compared; one that
/// is lower than before was reset meanwhile and counts from zero.
std::vector<Fault> judge_counters(const CounterSnapshot& before, const CounterSnapshot& after,
                                  double time_s);

/// What cannot be read of each device and would have been, with severity unknown. NVLink and XGMI
/// counters are missed only where there are links.
std::vector<Fault> unread_counters(const CounterSnapshot& snapshot);

}  // namespace hiptool::accept
