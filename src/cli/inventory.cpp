// SPDX-License-Identifier: MIT
#include "cli/inventory.hpp"

#include "hiptool/error.hpp"

namespace hiptool::cli {

DeviceFacts read_facts(const Device& device, const std::filesystem::path& root, TraceSink& trace) {
  DeviceFacts facts;
  facts.id = device.id();
  facts.platform = device.platform();
  facts.ordinal = device.ordinal();
  try {
    facts.info = device.info();
  } catch (const Error& error) {
    trace.note("devices", facts.id + ": " + error.what());
  }
  // On NVIDIA the question would create a context, which takes time and half a gigabyte.
  if (facts.platform != Platform::nvidia) {
    try {
      facts.memory = device.memory();
    } catch (const Error& error) {
      trace.note("devices", facts.id + ": " + error.what());
    }
  }
  if (facts.info.pci_bus_id) facts.pci = system::find_pci_device(root, *facts.info.pci_bus_id);
  return facts;
}

Inventory take_inventory(Platforms& platforms, std::optional<Platform> only,
                         const std::filesystem::path& root, TraceSink& trace,
                         const CancelToken& cancel) {
  Inventory inventory;
  for (const Platform platform : {Platform::amd, Platform::nvidia, Platform::cpu}) {
    if (only && *only != platform) continue;
    cancel.throw_if_cancelled("devices");
    inventory.platforms.push_back(platforms.status(platform));
    for (const Device& device : platforms.devices(platform)) {
      cancel.throw_if_cancelled("devices");
      inventory.devices.push_back(read_facts(device, root, trace));
    }
  }
  for (system::PciDevice& gpu : system::list_gpus(root)) {
    const Platform platform = gpu.vendor == system::vendor_amd ? Platform::amd : Platform::nvidia;
    if (!only || *only == platform) inventory.hardware.push_back(std::move(gpu));
  }
  return inventory;
}

std::optional<MemoryPeak> memory_peak(const DeviceFacts& device) {
  const DeviceInfo& info = device.info;
  // Only CUDA's memory clock is known to be that of a double data rate bus.
  if (device.platform != Platform::nvidia) return {};
  if (!info.memory_clock_hz || !info.memory_bus_width_bits) return {};
  if (*info.memory_clock_hz == 0 || *info.memory_bus_width_bits == 0) return {};
  return MemoryPeak{2.0 * static_cast<double>(*info.memory_clock_hz) *
                        static_cast<double>(*info.memory_bus_width_bits) / 8,
                    "memory-clock"};
}

std::optional<double> link_peak_bytes_per_s(const DeviceFacts& device) {
  if (!device.pci) return {};
  const system::PciLink& link = device.pci->link;
  // An idle device lowers its speed, so what it can do counts first.
  const auto speed = link.max_speed_gt_s ? link.max_speed_gt_s : link.speed_gt_s;
  const auto width = link.max_width ? link.max_width : link.width;
  if (!speed || !width || *width == 0) return {};
  return system::pcie_bytes_per_s(*speed, *width);
}

}  // namespace hiptool::cli
