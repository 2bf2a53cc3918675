// SPDX-License-Identifier: MIT
#include "measure/copy/device_watch.hpp"

#include "base/contains.hpp"
#include "hip/patient_sensors.hpp"
#include "system/pci.hpp"

namespace hiptool::measure {
namespace {

constexpr std::chrono::milliseconds read_interval{200};

void keep_highest(const std::optional<double>& seen, std::optional<double>& kept) {
  if (seen && (!kept || *seen > *kept)) kept = seen;
}

void merge(const hip::SensorReading& seen, hip::SensorReading& kept) {
  keep_highest(seen.clock_hz, kept.clock_hz);
  keep_highest(seen.memory_clock_hz, kept.memory_clock_hz);
  keep_highest(seen.temperature_c, kept.temperature_c);
  keep_highest(seen.power_w, kept.power_w);
  if (!seen.throttle_reasons) return;
  if (!kept.throttle_reasons) kept.throttle_reasons.emplace();
  for (const std::string& reason : *seen.throttle_reasons) {
    auto& reasons = *kept.throttle_reasons;
    if (!base::contains(reasons, reason)) {
      reasons.push_back(reason);
    }
  }
}

std::optional<system::PciPath> read_link(const std::filesystem::path& root,
                                         const DeviceInfo& info) {
  if (!info.pci_bus_id) return {};
  return system::read_pci_path(root, *info.pci_bus_id);
}

}  // namespace

DeviceWatch::DeviceWatch(Platforms& platforms, const std::vector<Device>& devices,
                         const std::filesystem::path& root)
    : root_(root) {
  for (const Device& device : devices) {
    const Platform platform = device.platform();
    const PlatformStatus& status = platforms.status(platform);
    if (!libraries_.contains(platform)) {
      libraries_.emplace(platform, hip::open_patient_sensors(platform, root));
    }
    const hip::SensorLibrary& library = libraries_.at(platform);
    WatchedDevice context{device,
                          device.info(),
                          status.driver_version,
                          status.runtime_version,
                          {},
                          {},
                          library.reason,
                          {},
                          {},
                          {},
                          library.has_timed_out};
    if (library.sensors) context.sensors_source = library.sensors->source();
    if (context.info.pci_bus_id) {
      const auto pci = system::find_pci_device(root, *context.info.pci_bus_id);
      if (pci) context.numa_node = pci->numa_node;
    }
    context.before = {read_link(root, context.info), read(context)};
    contexts_.push_back(std::move(context));
  }
}

hip::SensorReading DeviceWatch::read(WatchedDevice& context) {
  const hip::SensorLibrary& library = libraries_.at(context.device.platform());
  if (!library.sensors || !context.info.pci_bus_id) return {};
  hip::SensorReading reading = library.sensors->read(*context.info.pci_bus_id);
  if (reading.has_timed_out) {
    context.sensors_missing = hip::sensors_hang;
    context.has_timed_out = true;
  }
  return reading;
}

void DeviceWatch::look() noexcept {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_read_ < read_interval) return;
  last_read_ = now;
  try {
    for (WatchedDevice& context : contexts_) merge(read(context), context.during.sensors);
  } catch (const std::exception&) {
    // Values that could not be read stay absent.
  }
}

void DeviceWatch::finish(const std::vector<machine::LinkObservation>& links) {
  for (WatchedDevice& context : contexts_) {
    context.after = {read_link(root_, context.info), read(context)};
    const std::string bus_id = system::normalize_bus_id(context.info.pci_bus_id.value_or(""));
    for (const machine::LinkObservation& link : links) {
      if (!bus_id.empty() && link.bus_id == bus_id) context.during.link = link.fastest;
    }
  }
}

}  // namespace hiptool::measure
