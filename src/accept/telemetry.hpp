// SPDX-License-Identifier: MIT
/// What the sensors show while a stage runs, and the error counters before and after it.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "accept/counters.hpp"
#include "hip/sensors.hpp"
#include "hiptool/device.hpp"
#include "report/tree.hpp"

namespace hiptool::accept {

using TimePoint = std::chrono::steady_clock::time_point;

/// The sensors of a device over some time; absent and empty where they do not report it.
struct LoadSummary {
  std::size_t samples = 0;
  std::optional<double> least_clock_hz;
  std::optional<double> median_clock_hz;
  std::optional<double> median_memory_clock_hz;
  std::optional<double> most_power_w;
  std::optional<double> most_temperature_c;
  std::optional<double> most_memory_temperature_c;
  std::optional<double> memory_temperature_limit_c;
  std::vector<std::string> throttle_reasons;  ///< each once
};

/// As documents have it.
report::Object to_object(const LoadSummary& summary);

/// Reads the sensors and counters of devices that have some. Safe under threads.
class Telemetry {
 public:
  /// Opens the libraries. Blocks, for ever if a driver hangs.
  Telemetry(const std::vector<Device>& devices, std::filesystem::path root);

  /// Whether any of the devices is a GPU with a place on a bus.
  static bool concerns(const std::vector<Device>& devices);

  /// Reads all devices once; throws nothing.
  void sample() noexcept;
  /// Whether each device with sensors has a sample since then.
  bool has_samples_since(TimePoint from) const;
  /// Forgets the samples so far.
  void clear();
  LoadSummary summary(const std::string& device, TimePoint from, TimePoint until) const;

  /// Reads all counters and the kernel's log. Blocks, for ever if a driver hangs.
  CounterSnapshot read_counters() const;

 private:
  struct Place {
    std::string device;
    Platform platform = Platform::cpu;
    std::string bus_id;
  };
  struct Sample {
    TimePoint at;
    std::optional<double> clock_hz;
    std::optional<double> memory_clock_hz;
    std::optional<double> power_w;
    std::optional<double> temperature_c;
    std::optional<double> memory_temperature_c;
    std::optional<double> memory_temperature_limit_c;
    std::vector<std::string> throttle_reasons;
  };

  std::vector<Place> places_;                         // not changed after the constructor
  std::map<Platform, hip::SensorLibrary> libraries_;  // the same
  std::filesystem::path root_;
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<Sample>> samples_;
};

/// Samples until it is destroyed, on a thread of its own that is left behind if a driver hangs.
class TelemetryThread {
 public:
  explicit TelemetryThread(std::shared_ptr<Telemetry> telemetry);
  ~TelemetryThread() { stop(); }
  TelemetryThread(const TelemetryThread&) = delete;
  TelemetryThread& operator=(const TelemetryThread&) = delete;

  /// Waits until each device with sensors has a sample since then or could not be read, for two
  /// seconds at most.
  void wait_for_samples(TimePoint from);

  /// False if the thread does not end and was left behind.
  bool stop();

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::uint64_t asked = 0;     // calls of wait_for_samples()
    std::uint64_t answered = 0;  // of these calls, as many as the last sample was for
    bool shall_stop = false;
    bool has_ended = false;
  };
  std::shared_ptr<Telemetry> telemetry_;
  std::shared_ptr<State> state_;
};

}  // namespace hiptool::accept
