// SPDX-License-Identifier: MIT
#include "accept/accept.hpp"

#include <algorithm>
#include <utility>

#include "accept/machine.hpp"
#include "model_writer/sample_model.hpp"
#include "report/verdict.hpp"

namespace hiptool::accept {
namespace {

/// "nvidia: cuInit failed": of platforms whose runtime library is installed.
std::vector<std::string> reasons_of_platforms(const machine::Diagnosis& diagnosis) {
  std::vector<std::string> reasons;
  for (const machine::PlatformAnswer& answer : diagnosis.evidence.platforms) {
    const PlatformStatus& status = answer.status;
    if (status.usable || status.library.empty() || status.reason.empty()) continue;
    reasons.push_back(std::string(to_string(status.platform)) + ": " + status.reason);
  }
  return reasons;
}

CheckedDevice checked_device(const Device& device) {
  CheckedDevice checked;
  checked.id = device.id();
  checked.platform = device.platform();
  checked.info = device.info();
  return checked;
}

/// A small decoder of quantised and plain types.
model_writer::ModelWriterOptions small_model() {
  model_writer::ModelWriterOptions options;
  options.types = {"Q4_K", "Q6_K", "Q8_0", "F16"};
  options.seed = 1;
  options.decoder = model_writer::SampleDecoder{"llama", RopeScaling::none, 0, false};
  return options;
}

/// Whether a stage that was chosen was run on a device, or for an empty id on any. The doctor
/// counts only where nothing else was chosen.
bool has_run_on(const CheckOutcome& outcome, const std::string& device) {
  const bool has_measuring =
      std::any_of(outcome.stages.begin(), outcome.stages.end(),
                  [](const std::string& stage) { return stage != "doctor"; });
  const auto& stages = outcome.result.stages;
  return std::any_of(stages.begin(), stages.end(), [&](const StageResult& stage) {
    const bool is_its = device.empty() || stage.device == device ||
                        (stage.stage == "doctor" && stage.device.empty());
    return is_its && stage.status != StageStatus::skipped &&
           (!has_measuring || stage.stage != "doctor");
  });
}

std::optional<Error> nothing_run(const CheckOutcome& outcome) {
  if (!has_run_on(outcome, "")) {
    return Error(ErrorCode::unavailable, "check", "no stage could be run",
                 "see the reasons of the skipped stages");
  }
  for (const CheckedDevice& device : outcome.result.devices) {
    if (has_run_on(outcome, device.id)) continue;
    return Error(ErrorCode::unavailable, "check", "no stage could be run on " + device.id,
                 "see the reasons of the skipped stages, or choose other devices with --device");
  }
  return {};
}

/// Devices pass or fail each by themselves only in a run that came to its end.
void judge_devices(CheckOutcome& outcome) {
  CheckResult& result = outcome.result;
  const int exit_code = outcome.error               ? report::exit_code_of(outcome.error->code())
                        : result.worst() != nullptr ? report::exit_check_failed
                                                    : report::exit_done;
  const bool is_complete =
      !result.was_cancelled &&
      (exit_code == report::exit_done || exit_code == report::exit_check_failed ||
       exit_code == report::exit_code_of(ErrorCode::data_mismatch));
  for (CheckedDevice& device : result.devices) {
    device.has_passed =
        is_complete &&
        std::none_of(result.stages.begin(), result.stages.end(), [&](const StageResult& stage) {
          const bool is_its = stage.device.empty() || stage.device == device.id;
          return is_its && (stage.status == StageStatus::failed || stage.was_unreachable);
        });
  }
}

void judge_outcome(CheckOutcome& outcome) {
  CheckResult& result = outcome.result;
  const StageResult* const worst = result.worst();
  if (worst != nullptr) outcome.error = worst->faults.front().error;
  if (result.was_cancelled) {
    const bool is_wrong = outcome.error && outcome.error->code() == ErrorCode::data_mismatch;
    if (!is_wrong) outcome.error = Error(ErrorCode::cancelled, "check", "interrupted");
  } else if (worst == nullptr && !outcome.error) {
    outcome.error = nothing_run(outcome);
    if (outcome.error) outcome.error_code = machine::codes::not_run;
  }
  if (worst != nullptr || result.was_cancelled) outcome.error_code.clear();
  judge_devices(outcome);
}

/// The GPUs that are expected and missing; their machine has nothing else to check.
std::optional<Fault> missing_gpus(const CheckOptions& options, CheckedMachine& machine,
                                  CheckOutcome& outcome) {
  if (!options.expectations) return {};
  std::optional<Fault> missing = compare_gpu_counts(*options.expectations, machine, outcome);
  // A machine without any of its GPUs is refused; its processor is not what was expected.
  if (missing && machine.has_no_gpu) machine.devices.clear();
  if (machine.devices.empty()) outcome.result.devices.clear();
  for (const Device& device : machine.devices) options.expectations->of(device.info().name);
  return missing;
}

/// Runs the rated stages again, as often as expectations are to be written from. The first run
/// that does not pass ends this, and its faults are the outcome's.
void repeat_rates(const AcceptRequest& request, const std::vector<Device>& devices,
                  CheckOutcome& outcome) {
  CheckOptions options = request.options;
  const std::vector<std::string> rated = names_of_stages(&Stage::is_rated);
  std::erase_if(options.stages, [&](const std::string& stage) {
    return std::find(rated.begin(), rated.end(), stage) == rated.end();
  });
  CheckResult& first = outcome.result;
  for (std::size_t i = 1; i < request.repeats; ++i) {
    if (first.was_cancelled || first.has_left_threads || first.worst() != nullptr) return;
    CheckResult again;
    again.devices = first.devices;
    run_check(devices, options, again);
    first.was_cancelled = again.was_cancelled;
    first.has_left_threads = again.has_left_threads;
    for (StageResult& stage : again.stages) {
      if (stage.status == StageStatus::failed) first.stages.push_back(std::move(stage));
    }
    outcome.repeats.push_back(std::move(again.measurements));
  }
}

}  // namespace

void accept_machine(AcceptRequest request, Platforms& platforms, TraceSink& trace,
                    CheckOutcome& outcome) {
  CheckOptions& options = request.options;
  outcome.level = options.level;
  outcome.stages = options.stages;
  outcome.spread = options.spread;
  CheckedMachine machine;
  try {
    examine_machine(request, platforms, trace, machine);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::cancelled) throw;
    outcome.result.was_cancelled = true;
    judge_outcome(outcome);
    return;
  }
  outcome.doctor = machine.diagnosis.checks;
  outcome.is_whole = machine.is_whole;
  outcome.visibility = machine.visibility;
  if (request.on_devices) request.on_devices(machine.devices);
  for (const Device& device : machine.devices) {
    outcome.result.devices.push_back(checked_device(device));
  }
  const std::optional<Fault> missing = missing_gpus(options, machine, outcome);
  outcome.has_no_gpu = machine.has_no_gpu && !missing;
  if (outcome.has_no_gpu) outcome.no_gpu_reasons = reasons_of_platforms(machine.diagnosis);
  add_doctor(machine, missing, options, outcome);
  std::optional<model_writer::SampleModel> made;
  if (options.model.is_made) {
    made.emplace("check", small_model());
    options.model.path = made->path();
  }
  if (!machine.devices.empty()) {
    run_check(machine.devices, options, outcome.result);
    repeat_rates(request, machine.devices, outcome);
  }
  compare_expectations(options, outcome);
  judge_outcome(outcome);
}

}  // namespace hiptool::accept
