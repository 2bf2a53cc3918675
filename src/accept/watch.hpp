// SPDX-License-Identifier: MIT
/// Watches the GPUs of a check: sensors all the time, error counters after each stage.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "accept/check.hpp"
#include "accept/telemetry.hpp"
#include "hiptool/cancel.hpp"
#include "hiptool/device.hpp"

namespace hiptool::accept {

/// Adds to the results of each stage what counters and sensors showed while it ran. Does nothing
/// for devices without a place on a bus, such as the processor. A driver that hangs is given up
/// after the patience, and said so once.
class StageWatch {
 public:
  StageWatch(std::vector<Device> devices, std::filesystem::path root, double patience_s,
             const CancelToken& cancel);

  /// Opens the sensors, reads all counters and starts sampling, before the first stage.
  void begin();

  /// Reads the counters again: faults and warnings since the last time go to the results of their
  /// devices, the first time also what cannot be read; sensors go to results and measurements.
  void end_stage(std::vector<StageResult>& results, std::vector<StageMeasurement>& measurements);

  bool has_left_threads() const noexcept { return has_left_threads_; }

 private:
  std::optional<CounterSnapshot> read();
  void add_findings(std::vector<StageResult>& results);
  void add_telemetry(std::vector<StageResult>& results,
                     std::vector<StageMeasurement>& measurements) const;

  std::vector<Device> devices_;
  std::filesystem::path root_;
  double patience_s_;
  const CancelToken& cancel_;
  std::shared_ptr<Telemetry> telemetry_;  // null: nothing to watch, or the sensors hang
  std::unique_ptr<TelemetryThread> thread_;
  std::optional<CounterSnapshot> last_;
  TimePoint last_at_;
  bool is_first_ = true;
  bool is_given_up_ = false;
  bool has_left_threads_ = false;
};

}  // namespace hiptool::accept
