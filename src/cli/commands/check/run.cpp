// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "base/contains.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "cli/commands/check/expectations.hpp"
#include "cli/commands/check/machine.hpp"
#include "cli/commands/check/run.hpp"
#include "cli/document.hpp"
#include "cli/exit_code.hpp"
#include "cli/model_path.hpp"
#include "cli/options.hpp"
#include "cli/output/failure.hpp"
#include "cli/output/output.hpp"
#include "hiptool/decoder_spec.hpp"
#include "model_writer/sample_model.hpp"
#include "results/devices/inventory.hpp"

namespace hiptool::cli {
namespace {

using accept::CheckedDevice;
using accept::Fault;
using accept::StageResult;
using accept::StageStatus;

constexpr std::uint64_t most_size_bytes = std::uint64_t{1} << 30;

double parse_percent(const std::string& text, const char* option, double usual) {
  if (text.empty()) return usual;
  const bool has_sign = text.back() == '%';
  const auto percent =
      base::parse_number<double>(std::string_view(text).substr(0, text.size() - has_sign));
  if (!percent || *percent < 0 || *percent >= 100) {
    throw usage_error(fmt::format("{}: '{}' is not a share from 0% to below 100%", option, text),
                      fmt::format("write {} 5%", option));
  }
  // Elsewhere 0.05 is a share, 5 %.
  if (!has_sign && *percent > 0 && *percent < 1) {
    throw usage_error(fmt::format("{}: '{}' is below 1 and has no % sign", option, text),
                      fmt::format("write {0} {1:g}%, or {0} {2}% for less than one percent", option,
                                  100 * *percent, text));
  }
  return *percent / 100;
}

/// What the options demand, read before a driver is opened.
struct CheckRequest {
  accept::CheckOptions options;
  machine::ProbePatience patience;  ///< of the doctor
  double margin = 0.05;
};

bool has_any(const std::vector<std::string>& stages, const std::vector<std::string>& wanted) {
  return std::any_of(stages.begin(), stages.end(), [&](const std::string& stage) {
    return std::find(wanted.begin(), wanted.end(), stage) != wanted.end();
  });
}

CheckRequest read_request(const CheckCommandOptions& options, const Context& context) {
  const Environment& environment = context.environment;
  CheckRequest request;
  request.options.level = *accept::parse_check_level(options.level.value_or("quick"));
  if (!options.stages.empty()) {
    request.options.stages.clear();
    for (const std::string& stage : split_list(options.stages, "--stage")) {
      base::add_once(request.options.stages,
                     choice_of(stage, accept::names_of_stages(), "--stage"));
    }
  }
  request.margin = parse_percent(options.margin, "--margin", request.margin);
  request.options.spread = parse_percent(options.spread, "--spread", request.options.spread);
  if (!options.spread.empty() && is_for_cpu_only(context.devices)) {
    throw usage_error("--spread compares GPUs of a kind, and only the processor was chosen",
                      "leave --spread out, or choose GPUs with --device");
  }
  if (!options.timeout.empty()) {
    request.options.patience_s = parse_timeout(options.timeout);
    request.patience = machine::ProbePatience::of_seconds(request.options.patience_s);
  }
  request.options.size_bytes = options.size_bytes;
  if (options.size_bytes % 4096 != 0 || options.size_bytes > most_size_bytes) {
    throw usage_error(fmt::format("--size: {} is not a multiple of 4 KiB up to 1 GiB",
                                  format_size(options.size_bytes)),
                      "write --size 16MiB");
  }
  request.options.cancel = &environment.cancel;
  request.options.root = environment.system_root;
  if (!options.margin.empty() && options.write_expect.empty()) {
    throw usage_error("--margin is for --write-expect", "give --write-expect FILE too");
  }
  const std::vector<std::string> rated = accept::names_of_stages(&accept::Stage::is_rated);
  if (!options.write_expect.empty() && !has_any(request.options.stages, rated)) {
    throw usage_error("--write-expect: none of the chosen stages measures a rate",
                      fmt::format("add one of {} to --stage", fmt::join(rated, ", ")));
  }
  if (!options.expect.empty()) {
    request.options.expectations = accept::read_expectations(options.expect, &environment.cancel);
  }
  if (!options.model.empty()) {
    const ModelFile model = context.open_model(options.model, {});
    DecoderSpec::read(model);
    request.options.model = {model.path(), false};
  }
  return request;
}

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
bool has_run_on(const results::CheckOutcome& outcome, const std::string& device) {
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

std::optional<Error> nothing_run(const results::CheckOutcome& outcome) {
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
void judge_devices(results::CheckOutcome& outcome) {
  accept::CheckResult& result = outcome.result;
  const int exit_code = outcome.error               ? exit_code_of(outcome.error->code())
                        : result.worst() != nullptr ? exit_check_failed
                                                    : exit_done;
  const bool is_complete =
      !result.was_cancelled && (exit_code == exit_done || exit_code == exit_check_failed ||
                                exit_code == exit_code_of(ErrorCode::data_mismatch));
  for (CheckedDevice& device : result.devices) {
    device.has_passed =
        is_complete &&
        std::none_of(result.stages.begin(), result.stages.end(), [&](const StageResult& stage) {
          const bool is_its = stage.device.empty() || stage.device == device.id;
          return is_its && (stage.status == StageStatus::failed || stage.was_unreachable);
        });
  }
}

void judge_outcome(results::CheckOutcome& outcome) {
  accept::CheckResult& result = outcome.result;
  const StageResult* const worst = result.worst();
  if (worst != nullptr) outcome.error = worst->faults.front().error;
  if (result.was_cancelled) {
    const bool is_wrong = outcome.error && outcome.error->code() == ErrorCode::data_mismatch;
    if (!is_wrong) outcome.error = Error(ErrorCode::cancelled, "check", "interrupted");
  } else if (worst == nullptr && !outcome.error) {
    outcome.error = nothing_run(outcome);
  }
  judge_devices(outcome);
}

}  // namespace

void run_check_steps(const CheckCommandOptions& options, Context& context,
                     results::CheckOutcome& outcome) {
  Environment& environment = context.environment;
  CheckRequest request = read_request(options, context);
  std::optional<ExportFile> expectations;
  if (!options.write_expect.empty()) {
    expectations.emplace(options.write_expect, "--write-expect FILE");
  }
  outcome.level = request.options.level;
  outcome.stages = request.options.stages;
  outcome.expect = options.expect;
  if (!options.model.empty()) outcome.model = request.options.model.path.string();
  outcome.spread = request.options.spread;

  const std::shared_ptr<Platforms> platforms = context.make_platforms();
  CheckedMachine machine;
  try {
    examine_machine(request.patience, context, *platforms, machine);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::cancelled) throw;
    outcome.result.was_cancelled = true;
    outcome.not_written = options.write_expect;
    judge_outcome(outcome);
    return;
  }
  outcome.doctor = machine.diagnosis.checks;
  note_devices(environment, *platforms, machine.devices);
  for (const Device& device : machine.devices) {
    outcome.result.devices.push_back(checked_device(device));
  }
  std::optional<Fault> missing;
  if (request.options.expectations) {
    outcome.expects_gpus = !request.options.expectations->machines.empty();
    missing = compare_gpu_counts(*request.options.expectations, machine, outcome);
    // A machine without any of its GPUs is refused; its processor is not what was expected.
    if (missing && machine.has_no_gpu) machine.devices.clear();
    if (machine.devices.empty()) outcome.result.devices.clear();
    for (const Device& device : machine.devices)
      request.options.expectations->of(device.info().name);
  }
  outcome.has_no_gpu = machine.has_no_gpu && !missing;
  if (outcome.has_no_gpu) outcome.no_gpu_reasons = reasons_of_platforms(machine.diagnosis);
  add_doctor(machine, missing, context, outcome);
  std::optional<model_writer::SampleModel> made;
  if (request.options.model.is_made) {
    made.emplace("check", small_model());
    request.options.model.path = made->path();
  }
  request.options.child = {environment.program, request.options.patience_s,
                           context.devices.nvidia_ordinals, environment.system_root.string()};
  request.options.on_stage = [&context](const StageResult& stage) { report_stage(context, stage); };
  if (!machine.devices.empty()) run_check(machine.devices, request.options, outcome.result);
  // Threads that a driver holds go on using the platforms.
  if (outcome.result.has_left_threads && environment.keep) environment.keep(platforms);
  compare_expectations(request.options, outcome);
  judge_outcome(outcome);
  const bool is_good = !outcome.error && outcome.result.worst() == nullptr;
  if (!is_good) outcome.not_written = options.write_expect;
  if (expectations && is_good) {
    write_expectations(machine, request.margin, *expectations, options.write_expect, outcome);
  }
}

}  // namespace hiptool::cli
