// SPDX-License-Identifier: MIT
#include "accept/machine.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/contains.hpp"

namespace hiptool::accept {
namespace {

using machine::DeviceSelection;
using machine::PlatformAnswer;
using machine::Severity;

bool has_hung(const PlatformAnswer& answer) {
  return answer.kind == PlatformAnswer::Kind::hung || answer.kind == PlatformAnswer::Kind::crashed;
}

DeviceSelection all_unless_named(DeviceSelection selection) {
  if (selection.ids.empty()) selection.ids = {"all"};
  return selection;
}

/// The platforms whose driver did not answer, of those that the selection may need.
std::vector<const PlatformAnswer*> dead_platforms(const machine::Diagnosis& diagnosis,
                                                  const DeviceSelection& selection) {
  std::vector<const PlatformAnswer*> dead;
  for (const PlatformAnswer& answer : diagnosis.evidence.platforms) {
    if (!has_hung(answer)) continue;
    const std::string name(to_string(answer.status.platform));
    const bool is_wanted =
        std::any_of(selection.ids.begin(), selection.ids.end(), [&](const std::string& id) {
          const bool is_of_other =
              (id.starts_with("cpu") || id.starts_with("amd") || id.starts_with("nvidia")) &&
              !id.starts_with(name);
          return !is_of_other;
        });
    if (is_wanted) dead.push_back(&answer);
  }
  return dead;
}

/// The devices of platforms that answer; opens no other platform.
std::vector<Device> choose_answering(Platforms& platforms, const DeviceSelection& selection,
                                     const std::vector<const PlatformAnswer*>& dead) {
  if (dead.empty()) return choose_devices(platforms, selection);
  const auto is_dead = [&](Platform platform) {
    return std::any_of(dead.begin(), dead.end(), [platform](const PlatformAnswer* answer) {
      return answer->status.platform == platform;
    });
  };
  std::vector<Device> devices;
  for (const Platform platform : {Platform::amd, Platform::nvidia, Platform::cpu}) {
    if (is_dead(platform) || (selection.platform && *selection.platform != platform)) continue;
    for (const Device& device : platforms.devices(platform)) {
      const bool is_named =
          std::any_of(selection.ids.begin(), selection.ids.end(), [&](const std::string& id) {
            return (id == "all" && machine::is_gpu(platform)) || id == device.id() ||
                   (id == to_string(platform) && device.ordinal() == 0);
          });
      if (is_named) devices.push_back(device);
    }
  }
  return devices;
}

StageResult dead_result(const PlatformAnswer& answer) {
  StageResult result;
  result.stage = "doctor";
  result.device = to_string(answer.status.platform);
  result.status = StageStatus::failed;
  std::string reason = answer.status.reason;
  if (answer.kind == PlatformAnswer::Kind::crashed && !answer.detail.empty()) {
    reason = "querying the driver " + answer.detail;
  }
  const std::string action = answer.status.hint.empty()
                                 ? "find the cause with `sudo dmesg | tail -n 50`, then reboot"
                                 : answer.status.hint;
  const bool is_hung = answer.kind == PlatformAnswer::Kind::hung;
  const Error error(is_hung ? ErrorCode::timed_out : ErrorCode::device, "check",
                    result.device + ": " + reason, action);
  result.faults.push_back(
      {machine::codes::driver_hang, "driver-hang", result.device, reason, action, error});
  result.time_s = answer.after_s;
  return result;
}

void add_machine_fault(const Fault& fault, double time_s, std::vector<StageResult>& stages) {
  const auto is_of_machine = [](const StageResult& stage) { return stage.device.empty(); };
  auto found = std::find_if(stages.begin(), stages.end(), is_of_machine);
  if (found == stages.end()) {
    StageResult result;
    result.stage = "doctor";
    result.time_s = time_s;
    found = stages.insert(stages.begin(), std::move(result));
  }
  found->status = StageStatus::failed;
  found->faults.push_back(fault);
}

/// The variables that choose among the GPUs of the machine's platforms; of all where it shows none.
std::string visibility_of(const AcceptRequest& request, const CheckedMachine& machine) {
  std::string text;
  for (const Platform platform : {Platform::amd, Platform::nvidia}) {
    const bool is_here =
        std::any_of(machine.devices.begin(), machine.devices.end(),
                    [platform](const Device& one) { return one.platform() == platform; });
    if (!is_here && !machine.has_no_gpu) continue;
    const std::string set = machine::visibility_variables(request.diagnosis.getenv, platform);
    if (text.find(set) == std::string::npos) text = set;
  }
  return text;
}

/// What a brief diagnosis does not look at.
bool was_left_out(const machine::Check& check) {
  return check.severity == Severity::unknown && (check.id == "libraries" || check.id == "p2p");
}

void add_device_fault(Fault fault, std::vector<StageResult>& stages) {
  const auto found = std::find_if(stages.begin(), stages.end(), [&](const StageResult& stage) {
    return stage.device == fault.device;
  });
  if (found == stages.end()) return;
  found->status = StageStatus::failed;
  found->faults.push_back(std::move(fault));
}

}  // namespace

void examine_machine(const AcceptRequest& request, Platforms& platforms, TraceSink& trace,
                     CheckedMachine& machine) {
  const std::vector<std::string>& ids = request.selection.ids;
  machine.is_whole =
      !request.selection.platform && (ids.empty() || ids == std::vector<std::string>{"all"});
  machine.selection = all_unless_named(request.selection);
  const auto start = std::chrono::steady_clock::now();
  if (!is_for_cpu_only(machine.selection)) {
    machine::DiagnosisOptions every = request.diagnosis;
    // Before a job there is little time, and the GPUs of other jobs are left alone.
    every.is_brief = request.options.level == CheckLevel::prolog;
    every.ids.clear();
    every.platform = machine.selection.platform;
    machine.diagnosis = machine::diagnose(every, trace, *request.options.cancel);
    if (every.is_brief) std::erase_if(machine.diagnosis.checks, was_left_out);
  }
  machine.doctor_s = base::seconds_since(start);
  machine.dead = dead_platforms(machine.diagnosis, machine.selection);
  machine.devices = choose_answering(platforms, machine.selection, machine.dead);
  machine.has_no_gpu =
      machine.dead.empty() && !is_for_cpu_only(machine.selection) &&
      std::none_of(machine.devices.begin(), machine.devices.end(),
                   [](const Device& one) { return machine::is_gpu(one.platform()); });
  if (machine.is_whole) machine.visibility = visibility_of(request, machine);
}

void add_doctor(const CheckedMachine& machine, const std::optional<Fault>& missing,
                const CheckOptions& options, CheckOutcome& outcome) {
  CheckResult& result = outcome.result;
  std::vector<StageResult> stages;
  const bool has_gpu =
      std::any_of(result.devices.begin(), result.devices.end(),
                  [](const CheckedDevice& device) { return machine::is_gpu(device.platform); });
  std::vector<machine::Check> checks = machine.diagnosis.checks;
  std::erase_if(checks, [&](const machine::Check& check) {
    // The platform has a line of its own for that.
    if (check.id == "driver-hang") return !machine.dead.empty();
    // Devices that were not chosen need not be there.
    return check.id == "hidden" && machine.selection.ids != std::vector<std::string>{"all"};
  });
  const auto& chosen = outcome.stages;
  if (std::find(chosen.begin(), chosen.end(), "doctor") == chosen.end()) {
    // A GPU that is lost is reported nevertheless, as is a driver that hangs.
    std::erase_if(checks, [](const machine::Check& check) {
      return check.id != "hidden" || check.severity != Severity::fail;
    });
    if (!checks.empty()) stages = doctor_stage(checks, {}, machine.doctor_s);
  } else if (has_gpu || !machine.dead.empty()) {
    stages = doctor_stage(checks, result.devices, machine.doctor_s);
  } else {
    for (const CheckedDevice& device : result.devices) {
      StageResult skipped;
      skipped.stage = "doctor";
      skipped.device = device.id;
      skipped.reason = "no GPU to examine";
      stages.push_back(std::move(skipped));
    }
  }
  if (options.level == CheckLevel::prolog && base::contains(chosen, std::string("doctor"))) {
    for (Fault& fault : left_memory(machine, outcome)) add_device_fault(std::move(fault), stages);
  }
  for (const PlatformAnswer* answer : machine.dead) stages.push_back(dead_result(*answer));
  if (missing) add_machine_fault(*missing, machine.doctor_s, stages);
  for (StageResult& stage : stages) {
    std::stable_sort(stage.faults.begin(), stage.faults.end(), is_worse);
    if (options.on_stage) options.on_stage(stage);
    result.stages.push_back(std::move(stage));
  }
}

}  // namespace hiptool::accept
