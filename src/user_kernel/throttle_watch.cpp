// SPDX-License-Identifier: MIT
#include "user_kernel/throttle_watch.hpp"

#include <exception>

#include "hip/patient_sensors.hpp"

namespace hiptool::user_kernel {
namespace {

constexpr std::chrono::milliseconds least_interval{20};  // a reading takes some milliseconds

}  // namespace

ThrottleWatch::ThrottleWatch(const Device& device, const std::filesystem::path& root)
    : bus_id_(device.info().pci_bus_id.value_or("")) {
  if (device.platform() == Platform::cpu || bus_id_.empty()) return;
  library_ = hip::open_patient_sensors(device.platform(), root);
  if (library_.sensors) read();
}

void ThrottleWatch::read() noexcept {
  try {
    const hip::SensorReading reading = library_.sensors->read_load(bus_id_);
    last_read_ = std::chrono::steady_clock::now();
    if (reading.has_timed_out) can_read_ = false;
    if (!reading.throttle_reasons) return;
    can_read_ = true;
    last_.clear();
    for (const std::string& reason : *reading.throttle_reasons) {
      last_ += (last_.empty() ? "" : ", ") + reason;
    }
  } catch (const std::exception&) {
    // What could not be read stays as it was.
  }
}

std::optional<std::string> ThrottleWatch::reasons() noexcept {
  if (can_read_ && std::chrono::steady_clock::now() - last_read_ >= least_interval) read();
  return can_read_ ? std::optional(last_) : std::nullopt;
}

}  // namespace hiptool::user_kernel
