// SPDX-License-Identifier: MIT
#include "accept/telemetry.hpp"

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "base/contains.hpp"
#include "base/statistics.hpp"
#include "system/pci.hpp"

namespace hiptool::accept {
namespace {

constexpr std::chrono::milliseconds sample_pause{100};
constexpr std::chrono::seconds thread_patience{2};

std::optional<double> median_of(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(base::median(values));
}

void keep_most(const std::optional<double>& value, std::optional<double>& most) {
  if (value) most = std::max(most.value_or(*value), *value);
}

}  // namespace

report::Object to_object(const LoadSummary& summary) {
  return {{"samples", std::uint64_t{summary.samples}},
          {"least_clock_hz", summary.least_clock_hz},
          {"median_clock_hz", summary.median_clock_hz},
          {"median_memory_clock_hz", summary.median_memory_clock_hz},
          {"most_power_w", summary.most_power_w},
          {"most_temperature_c", summary.most_temperature_c},
          {"most_memory_temperature_c", summary.most_memory_temperature_c},
          {"memory_temperature_limit_c", summary.memory_temperature_limit_c},
          {"throttle",
           report::Array(summary.throttle_reasons.begin(), summary.throttle_reasons.end())}};
}

Telemetry::Telemetry(const std::vector<Device>& devices, std::filesystem::path root)
    : root_(std::move(root)) {
  for (const Device& device : devices) {
    const Platform platform = device.platform();
    const std::string bus_id = system::normalize_bus_id(device.info().pci_bus_id.value_or(""));
    if (platform == Platform::cpu || bus_id.empty()) continue;
    if (libraries_.count(platform) == 0) {
      libraries_.emplace(platform, hip::open_sensors(platform, root_));
    }
    places_.push_back({device.id(), platform, bus_id});
  }
}

bool Telemetry::concerns(const std::vector<Device>& devices) {
  return std::any_of(devices.begin(), devices.end(), [](const Device& device) {
    return device.platform() != Platform::cpu && !device.info().pci_bus_id.value_or("").empty();
  });
}

void Telemetry::sample() noexcept {
  for (const Place& place : places_) {
    try {
      hip::Sensors* const sensors = libraries_.at(place.platform).sensors.get();
      if (sensors == nullptr) continue;
      hip::SensorReading reading = sensors->read_load(place.bus_id);
      Sample sample{std::chrono::steady_clock::now(),
                    reading.clock_hz,
                    reading.memory_clock_hz,
                    reading.power_w,
                    reading.temperature_c,
                    reading.memory_temperature_c,
                    reading.memory_temperature_limit_c,
                    std::move(reading.throttle_reasons).value_or(std::vector<std::string>())};
      const std::lock_guard lock(mutex_);
      samples_[place.device].push_back(std::move(sample));
    } catch (const std::exception&) {
      // A value that could not be read stays absent.
    }
  }
}

bool Telemetry::has_samples_since(TimePoint from) const {
  const std::lock_guard lock(mutex_);
  return std::all_of(places_.begin(), places_.end(), [this, from](const Place& place) {
    if (libraries_.at(place.platform).sensors == nullptr) return true;
    const auto found = samples_.find(place.device);
    return found != samples_.end() && !found->second.empty() && found->second.back().at >= from;
  });
}

void Telemetry::clear() {
  const std::lock_guard lock(mutex_);
  samples_.clear();
}

LoadSummary Telemetry::summary(const std::string& device, TimePoint from, TimePoint until) const {
  LoadSummary summary;
  std::vector<double> clocks;
  std::vector<double> memory_clocks;
  const std::lock_guard lock(mutex_);
  const auto found = samples_.find(device);
  if (found == samples_.end()) return summary;
  for (const Sample& sample : found->second) {
    if (sample.at < from || sample.at > until) continue;
    ++summary.samples;
    if (sample.clock_hz) clocks.push_back(*sample.clock_hz);
    if (sample.memory_clock_hz) memory_clocks.push_back(*sample.memory_clock_hz);
    keep_most(sample.power_w, summary.most_power_w);
    keep_most(sample.temperature_c, summary.most_temperature_c);
    keep_most(sample.memory_temperature_c, summary.most_memory_temperature_c);
    keep_most(sample.memory_temperature_limit_c, summary.memory_temperature_limit_c);
    for (const std::string& reason : sample.throttle_reasons) {
      base::add_once(summary.throttle_reasons, reason);
    }
  }
  if (!clocks.empty()) summary.least_clock_hz = *std::min_element(clocks.begin(), clocks.end());
  summary.median_clock_hz = median_of(clocks);
  summary.median_memory_clock_hz = median_of(memory_clocks);
  return summary;
}

CounterSnapshot Telemetry::read_counters() const {
  CounterSnapshot snapshot;
  for (const Place& place : places_) {
    DeviceCounters& counters = snapshot.devices[place.device];
    counters.platform = place.platform;
    counters.bus_id = place.bus_id;
    const hip::SensorLibrary& library = libraries_.at(place.platform);
    if (library.sensors) {
      counters.sensors = library.sensors->read(place.bus_id);
    } else {
      counters.reason = library.reason;
    }
    counters.ports = system::read_aer(root_, place.bus_id);
  }
  snapshot.log = system::read_kernel_messages(root_);
  return snapshot;
}

TelemetryThread::TelemetryThread(std::shared_ptr<Telemetry> telemetry)
    : telemetry_(std::move(telemetry)), state_(std::make_shared<State>()) {
  const auto work = [state = state_, telemetry = telemetry_] {
    std::unique_lock lock(state->mutex);
    while (!state->shall_stop) {
      const std::uint64_t asked = state->asked;
      lock.unlock();
      telemetry->sample();
      lock.lock();
      state->answered = asked;
      state->changed.notify_all();
      state->changed.wait_for(lock, sample_pause, [&state] {
        return state->shall_stop || state->asked > state->answered;
      });
    }
    state->has_ended = true;
    state->changed.notify_all();
  };
  try {
    std::thread(work).detach();
  } catch (const std::system_error&) {
    state_->has_ended = true;  // no thread to be had: the stage runs without
  }
}

void TelemetryThread::wait_for_samples(TimePoint from) {
  if (telemetry_->has_samples_since(from)) return;
  std::unique_lock lock(state_->mutex);
  const std::uint64_t asked = ++state_->asked;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, thread_patience, [this, asked, from] {
    return state_->answered >= asked || state_->has_ended || telemetry_->has_samples_since(from);
  });
}

bool TelemetryThread::stop() {
  std::unique_lock lock(state_->mutex);
  state_->shall_stop = true;
  state_->changed.notify_all();
  return state_->changed.wait_for(lock, thread_patience, [this] { return state_->has_ended; });
}

}  // namespace hiptool::accept
