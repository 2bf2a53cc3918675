// SPDX-License-Identifier: MIT
#include "accept/watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <string>
#include <utility>

#include "accept/stages.hpp"
#include "accept/workers.hpp"

namespace hiptool::accept {
namespace {

/// What a thread that may be left behind hands over.
struct Read {
  std::mutex mutex;
  std::shared_ptr<Telemetry> telemetry;
  std::optional<CounterSnapshot> snapshot;
};

/// The result of a finding's device. A stage may have none for the machine, and gets one, so that a
/// message about no device in particular does not refuse the first one.
StageResult& owner_of(const Fault& fault, std::vector<StageResult>& results) {
  const auto found = std::find_if(results.begin(), results.end(), [&fault](const StageResult& one) {
    return one.device == fault.device;
  });
  if (found != results.end()) return *found;
  if (fault.severity == machine::Severity::unknown) return results.front();
  StageResult result;
  result.stage = results.front().stage;
  result.device = fault.device;
  result.status = StageStatus::passed;
  return results.emplace_back(std::move(result));
}

void add_finding(std::vector<StageResult>& results, Fault fault) {
  if (results.empty()) return;
  StageResult& owner = owner_of(fault, results);
  if (fault.severity != machine::Severity::fail) {
    owner.warnings.push_back(std::move(fault));
    return;
  }
  owner.faults.push_back(std::move(fault));
  owner.status = StageStatus::failed;
}

bool has_code(const StageResult& result, std::string_view code) {
  return std::any_of(result.faults.begin(), result.faults.end(),
                     [code](const Fault& one) { return one.code == code; });
}

void add_memory_heat(const LoadSummary& summary, StageResult& result) {
  const auto& most_c = summary.most_memory_temperature_c;
  const auto& limit_c = summary.memory_temperature_limit_c;
  if (!most_c || !limit_c || *limit_c <= 0 || *most_c < *limit_c) return;
  const machine::CodeInfo* const info = machine::find_code(machine::codes::memory_heat);
  result.faults.push_back(
      {info->code, "memory-temperature", result.device,
       fmt::format("the memory reached {:.0f} C, its limit is {:.0f} C", *most_c, *limit_c),
       info->advice, std::nullopt, *limit_c, *most_c});
  result.status = StageStatus::failed;
}

/// Stages that read no sensors of their own see throttling by the hardware here, all see heat.
void add_throttling(const LoadSummary& summary, StageResult& result) {
  for (const std::string& reason : summary.throttle_reasons) {
    if (!hip::is_thermal_slowdown(reason)) continue;
    const machine::CodeInfo* const info = machine::find_code(machine::codes::throttled_by_heat);
    result.warnings.push_back({info->code,
                               "throttle",
                               result.device,
                               reason,
                               info->advice,
                               std::nullopt,
                               {},
                               reason,
                               machine::Severity::warn});
    break;
  }
  if (has_code(result, machine::codes::throttled)) return;
  StageWork work;
  add_slowdown(result.device, summary.throttle_reasons, work);
  for (Fault& fault : work.take().faults) {
    result.faults.push_back(std::move(fault));
    result.status = StageStatus::failed;
  }
}

}  // namespace

StageWatch::StageWatch(std::vector<Device> devices, std::filesystem::path root, double patience_s,
                       const CancelToken& cancel)
    : devices_(std::move(devices)),
      root_(std::move(root)),
      patience_s_(patience_s),
      cancel_(cancel) {}

void StageWatch::begin() {
  if (!Telemetry::concerns(devices_)) return;
  last_ = read();
  last_at_ = std::chrono::steady_clock::now();
  if (telemetry_) thread_ = std::make_unique<TelemetryThread>(telemetry_);
}

std::optional<CounterSnapshot> StageWatch::read() {
  const auto shared = std::make_shared<Read>();
  shared->telemetry = telemetry_;
  const auto task = [shared, devices = devices_, root = root_](Heartbeat& heart) {
    heart.step("reading the error counters");
    try {
      std::shared_ptr<Telemetry> telemetry;
      {
        const std::lock_guard lock(shared->mutex);
        telemetry = shared->telemetry;
      }
      if (!telemetry) telemetry = std::make_shared<Telemetry>(devices, root);
      CounterSnapshot snapshot = telemetry->read_counters();
      const std::lock_guard lock(shared->mutex);
      shared->telemetry = std::move(telemetry);
      shared->snapshot = std::move(snapshot);
    } catch (const std::exception&) {
      // Without a snapshot the counters are said to be unread.
    }
  };
  const TaskEnd end = run_tasks({task}, patience_s_, cancel_).front();
  const std::lock_guard lock(shared->mutex);
  if (end.is_left_behind) {
    has_left_threads_ = true;
    is_given_up_ = true;
    telemetry_.reset();
    return {};
  }
  telemetry_ = shared->telemetry;
  return std::move(shared->snapshot);
}

void StageWatch::end_stage(std::vector<StageResult>& results,
                           std::vector<StageMeasurement>& measurements) {
  if (!Telemetry::concerns(devices_) || cancel_.is_cancelled()) return;
  if (telemetry_) add_telemetry(results, measurements);
  add_findings(results);
  if (!is_given_up_ || thread_ == nullptr) return;
  has_left_threads_ = !thread_->stop() || has_left_threads_;
  thread_.reset();
}

void StageWatch::add_findings(std::vector<StageResult>& results) {
  std::optional<CounterSnapshot> now;
  if (!is_given_up_) now = read();
  const TimePoint now_at = std::chrono::steady_clock::now();
  if (last_ && now) {
    const double time_s = std::chrono::duration<double>(now_at - last_at_).count();
    for (Fault& fault : judge_counters(*last_, *now, time_s)) {
      add_finding(results, std::move(fault));
    }
  }
  const bool is_lost = is_given_up_ && (is_first_ || last_.has_value());
  if (is_lost) {
    const machine::CodeInfo* const info = machine::find_code(machine::codes::counters_unread);
    Fault unread{info->code,   "counters", "", hip::sensors_hang,         info->advice,
                 std::nullopt, {},         {}, machine::Severity::unknown};
    add_finding(results, std::move(unread));
  } else if (is_first_ && now) {
    for (Fault& fault : unread_counters(*now)) add_finding(results, std::move(fault));
  }
  is_first_ = false;
  last_ = std::move(now);
  last_at_ = now_at;
}

void StageWatch::add_telemetry(std::vector<StageResult>& results,
                               std::vector<StageMeasurement>& measurements) const {
  // A stage may be shorter than the pause between two samples.
  const bool has_run = std::any_of(results.begin(), results.end(), [](const StageResult& result) {
    return !result.device.empty() && result.status != StageStatus::skipped;
  });
  if (thread_ && has_run) thread_->wait_for_samples(last_at_);
  const TimePoint now = std::chrono::steady_clock::now();
  for (StageResult& result : results) {
    const LoadSummary summary = telemetry_->summary(result.device, last_at_, now);
    if (result.status == StageStatus::skipped) continue;
    if (summary.samples > 0) result.telemetry = to_object(summary);
    add_throttling(summary, result);
    add_memory_heat(summary, result);
  }
  for (StageMeasurement& measured : measurements) {
    report::Array by_device;
    for (const std::string& device : measured.devices) {
      const LoadSummary summary = telemetry_->summary(
          device, measured.started_at.value_or(last_at_), measured.ended_at.value_or(now));
      if (summary.samples == 0) continue;
      report::Object one = to_object(summary);
      one.insert(one.begin(), {"device", device});
      by_device.emplace_back(std::move(one));
    }
    if (!by_device.empty()) measured.details.emplace_back("telemetry", std::move(by_device));
  }
  telemetry_->clear();
}

}  // namespace hiptool::accept
