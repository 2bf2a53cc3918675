// SPDX-License-Identifier: MIT
#include "machine/inventory.hpp"

#include <unistd.h>

#include <cstdint>

#include "hip/patient_sensors.hpp"
#include "hiptool/error.hpp"

namespace hiptool::machine {

namespace {

bool has_any(const hip::SensorReading& reading) {
  return reading.temperature_c || reading.power_w || reading.memory_used_bytes ||
         reading.busy_share || reading.clock_hz || reading.processes;
}

}  // namespace

void SensorReader::read(DeviceFacts& device) {
  device.sensors.reset();
  device.sensors_source.clear();
  auto found = libraries_.find(device.platform);
  if (found == libraries_.end()) {
    found = libraries_
                .emplace(device.platform, hip::open_patient_sensors(device.platform, root_,
                                                                    hip::sensor_patience, cancel_))
                .first;
  }
  const hip::SensorLibrary& library = found->second;
  device.sensors_missing = library.reason;
  if (!library.sensors) return;
  if (!device.info.pci_bus_id) {
    device.sensors_missing = "the device has no PCI bus id";
    return;
  }
  hip::SensorReading reading = library.sensors->read(*device.info.pci_bus_id);
  if (reading.has_timed_out) {
    device.sensors_missing = hip::sensors_hang;
    was_cut_short_ = was_cut_short_ || (cancel_ != nullptr && cancel_->is_cancelled());
    return;
  }
  if (!has_any(reading)) {
    device.sensors_missing =
        library.sensors->source() + " reports nothing about " + *device.info.pci_bus_id;
    return;
  }
  if (reading.processes) {
    const auto self = static_cast<std::uint64_t>(getpid());
    std::erase_if(*reading.processes,
                  [self](const hip::DeviceProcess& process) { return process.id == self; });
  }
  device.sensors = std::move(reading);
  device.sensors_source = library.sensors->source();
}

void read_pci(const std::filesystem::path& root, DeviceFacts& facts) {
  if (!facts.info.pci_bus_id) return;
  facts.pci = system::find_pci_device(root, *facts.info.pci_bus_id);
  facts.path = system::read_pci_path(root, *facts.info.pci_bus_id);
}

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
  // On NVIDIA this query would create a context: 0.1 s and half a gigabyte of device memory.
  if (facts.platform != Platform::nvidia) {
    try {
      facts.memory = device.memory();
    } catch (const Error& error) {
      trace.note("devices", facts.id + ": " + error.what());
    }
  }
  read_pci(root, facts);
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

system::PciLink link_of(const DeviceFacts& device) {
  if (!device.pci) return {};
  system::PciLink link = device.pci->link;
  if (const auto* now = device.path.slowest_now()) {
    link.speed_gt_s = now->link.speed_gt_s;
    link.width = now->link.width;
  }
  if (const auto* best = device.path.slowest_at_best()) {
    link.max_speed_gt_s = best->link.max_speed_gt_s;
    link.max_width = best->link.max_width;
  }
  return link;
}

std::optional<double> link_peak_bytes_per_s(const DeviceFacts& device) {
  const system::PciLink link = link_of(device);
  // An idle device lowers its link speed, so the maximum comes first.
  const auto speed = link.max_speed_gt_s ? link.max_speed_gt_s : link.speed_gt_s;
  const auto width = link.max_width ? link.max_width : link.width;
  if (!speed || !width || *width == 0) return {};
  return system::pcie_bytes_per_s(*speed, *width);
}

}  // namespace hiptool::machine
