// SPDX-License-Identifier: MIT
#include "accept/load_sensors.hpp"

#include <algorithm>
#include <exception>

#include "hip/patient_sensors.hpp"

namespace hiptool::accept {
namespace {

constexpr std::chrono::milliseconds read_interval{100};

}  // namespace

LoadSensors::LoadSensors(const std::vector<Device>& devices, const std::filesystem::path& root,
                         std::chrono::milliseconds patience) {
  for (const Device& device : devices) {
    const Platform platform = device.platform();
    const std::string bus_id = device.info().pci_bus_id.value_or("");
    if (platform == Platform::cpu || bus_id.empty()) continue;
    if (libraries_.count(platform) == 0) {
      libraries_.emplace(platform, hip::open_patient_sensors(platform, root, patience));
    }
    if (libraries_.at(platform).sensors) bus_ids_.emplace(device.id(), Place{platform, bus_id});
  }
}

std::optional<double> LoadSensors::clock_hz(const std::string& device) noexcept {
  try {
    const auto place = bus_ids_.find(device);
    if (place == bus_ids_.end()) return {};
    hip::Sensors& sensors = *libraries_.at(place->second.platform).sensors;
    const hip::SensorReading reading = sensors.read(place->second.bus_id);
    if (!reading.throttle_reasons) return reading.clock_hz;
    const std::lock_guard lock(mutex_);
    std::vector<std::string>& known = reasons_[device];
    for (const std::string& reason : *reading.throttle_reasons) {
      if (std::find(known.begin(), known.end(), reason) == known.end()) known.push_back(reason);
    }
    return reading.clock_hz;
  } catch (const std::exception&) {
    return {};  // a value that could not be read stays absent
  }
}

void LoadSensors::look(const std::string& device) noexcept {
  if (!can_read(device)) return;
  {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    auto& last = last_read_[device];
    if (now - last < read_interval) return;
    last = now;
  }
  clock_hz(device);
}

std::vector<std::string> LoadSensors::reasons(const std::string& device) const {
  const std::lock_guard lock(mutex_);
  const auto found = reasons_.find(device);
  return found == reasons_.end() ? std::vector<std::string>() : found->second;
}

}  // namespace hiptool::accept
