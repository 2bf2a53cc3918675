// SPDX-License-Identifier: MIT
/// What the machine has to compute with, gathered once and then only looked at.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hip/sensors.hpp"
#include "hiptool/cancel.hpp"
#include "hiptool/device.hpp"
#include "hiptool/platform.hpp"
#include "hiptool/trace.hpp"
#include "measure/peak.hpp"
#include "system/pci.hpp"
#include "system/pci_path.hpp"

namespace hiptool::cli {

struct DeviceFacts {
  std::string id;
  Platform platform = Platform::cpu;
  int ordinal = 0;
  DeviceInfo info;
  std::optional<MemoryInfo> memory;  ///< absent where asking would start the device
  std::optional<system::PciDevice> pci;
  system::PciPath path;                       ///< to its root port; empty where not known
  std::optional<hip::SensorReading> sensors;  ///< where they were read
};

struct Inventory {
  std::vector<PlatformStatus> platforms;
  std::vector<DeviceFacts> devices;
  std::vector<system::PciDevice> hardware;  ///< GPUs on the bus, usable or not
};

/// The device and its way on the PCI bus, by the bus id that the runtime told.
void read_pci(const std::filesystem::path& root, DeviceFacts& facts);

/// Reads one device. What it does not tell is absent and remarked in the trace.
DeviceFacts read_facts(const Device& device, const std::filesystem::path& root, TraceSink& trace);

/// Opens the platforms (all, or the one given) and reads every device of them. Throws
/// Error(cancelled) between two of them.
Inventory take_inventory(Platforms& platforms, std::optional<Platform> only,
                         const std::filesystem::path& root, TraceSink& trace,
                         const CancelToken& cancel);

/// Peak of the memory in bytes per second, and where the number comes from; absent if not known.
std::optional<measure::MemoryPeak> memory_peak(const DeviceFacts& device);

/// The slowest link between the device and the processor, now and at its best: on a board with a
/// switch of its own the device itself shows a faster one.
system::PciLink link_of(const DeviceFacts& device);

/// The most that the way to the device can carry in one direction, in bytes per second.
std::optional<double> link_peak_bytes_per_s(const DeviceFacts& device);

}  // namespace hiptool::cli
