// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>

#include "base/clock.hpp"
#include "base/temporary_folder.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "cli/commands/check/outcome.hpp"
#include "cli/commands/devices/devices_report.hpp"
#include "cli/commands/devices/doctor.hpp"
#include "cli/commands/make_model/model_writer.hpp"
#include "cli/document.hpp"
#include "cli/failure.hpp"
#include "cli/model_path.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/text.hpp"
#include "hiptool/decoder_spec.hpp"

namespace hiptool::cli {
namespace {

using measure::CheckedDevice;
using measure::CheckLevel;
using measure::Fault;
using measure::PlatformAnswer;
using measure::StageResult;
using measure::StageStatus;

constexpr std::uint64_t most_size_bytes = std::uint64_t{1} << 30;

double parse_percent(const std::string& text, const char* option, double usual) {
  if (text.empty()) return usual;
  const std::string_view digits =
      std::string_view(text).substr(0, text.size() - (text.back() == '%' ? 1 : 0));
  const auto percent = base::parse_number<double>(digits);
  if (percent && *percent >= 0 && *percent < 100) return *percent / 100;
  throw usage_error(fmt::format("{}: '{}' is not a share from 0% to below 100%", option, text),
                    fmt::format("write {} 5%", option));
}

double parse_timeout(const std::string& text) {
  if (text.empty()) return measure::CheckOptions().patience_s;
  const auto seconds = base::parse_number<double>(text);
  if (seconds && *seconds > 0 && *seconds <= 86400) return *seconds;
  throw usage_error(fmt::format("--timeout: '{}' is not a number of seconds up to 86400", text),
                    "write it as 60");
}

/// What the options demand, read before a driver is opened.
struct CheckRequest {
  measure::CheckOptions options;
  double margin = 0.05;
};

CheckRequest read_request(const CheckCommandOptions& options, const Environment& environment) {
  CheckRequest request;
  request.options.level = *measure::parse_check_level(options.level.value_or("quick"));
  if (!options.stages.empty()) {
    request.options.stages.clear();
    for (const std::string& stage : split_list(options.stages, "--stage")) {
      check_choice(stage, measure::check_stages(), "--stage");
      add_once(request.options.stages, stage);
    }
  }
  request.margin = parse_percent(options.margin, "--margin", request.margin);
  request.options.spread = parse_percent(options.spread, "--spread", request.options.spread);
  request.options.patience_s = parse_timeout(options.timeout);
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
  if (!options.expect.empty()) {
    request.options.floors = measure::read_floors(options.expect, &environment.cancel);
  }
  if (!options.model.empty()) {
    DecoderSpec::read(open_model(options.model, {}, environment.getenv));
    request.options.model = {options.model, false};
  }
  return request;
}

// ---- devices

bool has_hung(const PlatformAnswer& answer) {
  return answer.kind == PlatformAnswer::Kind::hung || answer.kind == PlatformAnswer::Kind::crashed;
}

/// Whether the selection is for devices of the cpu platform alone.
bool is_for_cpu_only(const DeviceSelection& selection) {
  if (selection.platform) return *selection.platform == Platform::cpu;
  return !selection.ids.empty() &&
         std::all_of(selection.ids.begin(), selection.ids.end(),
                     [](const std::string& id) { return id == "cpu" || id.starts_with("cpu:"); });
}

DeviceSelection all_unless_named(DeviceSelection selection) {
  if (selection.ids.empty()) selection.ids = {"all"};
  return selection;
}

/// The platforms whose driver did not answer, of those that the selection may need.
std::vector<const PlatformAnswer*> dead_platforms(const Diagnosis& diagnosis,
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
            return (id == "all" && is_gpu(platform)) || id == device.id() ||
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
  result.faults.push_back({"driver-hang@" + result.device, reason, action, error});
  result.time_s = answer.after_s;
  return result;
}

CheckedDevice checked_device(const Device& device) {
  CheckedDevice checked;
  checked.id = device.id();
  checked.platform = device.platform();
  checked.info = device.info();
  return checked;
}

// ---- the run

void tell_stage(Context& context, const StageResult& stage) {
  if (context.quiet) return;
  context.environment.console.err(printable(describe_stage(stage)) + "\n");
}

/// A small decoder of quantised and plain types.
std::filesystem::path make_small_model(const std::filesystem::path& folder) {
  ModelWriterOptions options;
  options.path = folder / "check.gguf";
  options.format = ModelFormat::gguf;
  options.types = {"Q4_K", "Q6_K", "Q8_0", "F16"};
  options.seed = 1;
  options.decoder = SampleDecoder{"llama", RopeScaling::none, 0, false};
  return write_model(options).path;
}

void examine_machine(const DeviceSelection& selection, Context& context, CheckOutcome& outcome,
                     Diagnosis& diagnosis) {
  if (is_for_cpu_only(selection)) return;
  DeviceSelection every;
  every.platform = selection.platform;
  diagnosis = diagnose(every, context);
  outcome.doctor = diagnosis.checks;
}

void add_doctor(const Diagnosis& diagnosis, const std::vector<const PlatformAnswer*>& dead,
                double time_s, Context& context, CheckOutcome& outcome) {
  measure::CheckResult& result = outcome.result;
  std::vector<StageResult> stages;
  const bool has_gpu =
      std::any_of(result.devices.begin(), result.devices.end(),
                  [](const CheckedDevice& device) { return is_gpu(device.platform); });
  const auto& chosen = outcome.stages;
  if (std::find(chosen.begin(), chosen.end(), "doctor") == chosen.end()) {
    // A driver that hangs is reported nevertheless.
  } else if (has_gpu || !dead.empty()) {
    std::vector<measure::Check> checks = diagnosis.checks;
    // The platform has a line of its own for that.
    std::erase_if(checks, [&](const measure::Check& check) {
      return check.id == "driver-hang" && !dead.empty();
    });
    stages = measure::doctor_stage(checks, result.devices, time_s);
  } else {
    for (const CheckedDevice& device : result.devices) {
      StageResult skipped;
      skipped.stage = "doctor";
      skipped.device = device.id;
      skipped.reason = "no GPU to examine";
      stages.push_back(std::move(skipped));
    }
  }
  for (const PlatformAnswer* answer : dead) stages.push_back(dead_result(*answer));
  for (StageResult& stage : stages) {
    std::stable_sort(stage.faults.begin(), stage.faults.end(), measure::is_worse);
    tell_stage(context, stage);
    result.stages.push_back(std::move(stage));
  }
}

/// What a file expects and this level does not measure; throws for what it should have measured.
void compare_floors(const measure::CheckOptions& options, CheckOutcome& outcome) {
  if (!options.floors) return;
  measure::CheckResult& result = outcome.result;
  const auto level = measure::parse_check_level(options.floors->level);
  std::set<std::string> kinds;
  for (const CheckedDevice& device : result.devices) kinds.insert(device.info.name);
  for (const std::string& kind : kinds) {
    for (const auto& [label, floor] : options.floors->of(kind)) {
      const bool is_measured =
          std::any_of(result.cells.begin(), result.cells.end(),
                      [&, &name = label](const auto& cell) { return cell.label == name; });
      if (is_measured) continue;
      const auto& chosen = outcome.stages;
      const bool is_of_other =
          std::find(chosen.begin(), chosen.end(), measure::stage_of_label(label)) == chosen.end();
      const bool is_of_more = floor.devices > 1;  // which are not chosen here
      const bool is_of_higher = level && *level > options.level;
      if (is_of_other || is_of_more || is_of_higher || result.worst() != nullptr) {
        result.floors.not_measured.push_back(kind + ": " + label);
        continue;
      }
      if (!outcome.error) {
        outcome.error = Error(ErrorCode::invalid_argument, "check",
                              fmt::format("{} expects '{}' of {}, which this run did not measure",
                                          options.floors->path, label, kind),
                              "write the file anew with --write-expect, or remove the measurement");
      }
    }
  }
}

void write_expectations(const CheckRequest& request, ExportFile& file, const std::string& path,
                        CheckOutcome& outcome) {
  const measure::CheckResult& result = outcome.result;
  std::vector<measure::RatedCell> cells;
  for (const measure::CheckCell& cell : result.cells) {
    if (!cell.again || cell.devices.empty()) continue;
    const auto device =
        std::find_if(result.devices.begin(), result.devices.end(),
                     [&](const CheckedDevice& one) { return one.id == cell.devices.front(); });
    if (device != result.devices.end()) cells.push_back({&cell, device->info.name});
  }
  file.write(measure::floors_text(cells, std::string(to_string(request.options.level)),
                                  request.margin, iso_time(std::chrono::system_clock::now())));
  outcome.written = path;
}

void judge_outcome(CheckOutcome& outcome) {
  measure::CheckResult& result = outcome.result;
  for (CheckedDevice& device : result.devices) {
    device.has_passed =
        std::none_of(result.stages.begin(), result.stages.end(), [&](const StageResult& stage) {
          const bool is_its = stage.device.empty() || stage.device == device.id;
          return is_its && (stage.status == StageStatus::failed || stage.was_unreachable);
        });
  }
  if (const StageResult* worst = result.worst()) outcome.error = worst->faults.front().error;
  if (result.was_cancelled) {
    const bool is_wrong = outcome.error && outcome.error->code() == ErrorCode::data_mismatch;
    if (!is_wrong) outcome.error = Error(ErrorCode::cancelled, "check", "interrupted");
    return;
  }
  const bool has_run =
      std::any_of(result.stages.begin(), result.stages.end(), [](const StageResult& stage) {
        return stage.stage != "doctor" && stage.status != StageStatus::skipped;
      });
  if (!has_run && result.worst() == nullptr) {
    outcome.error = Error(ErrorCode::unavailable, "check", "no stage could be run",
                          "see the reasons of the skipped stages");
  }
}

}  // namespace

void run_check_steps(const CheckCommandOptions& options, Context& context, CheckOutcome& outcome) {
  Environment& environment = context.environment;
  CheckRequest request = read_request(options, environment);
  std::optional<ExportFile> expectations;
  if (!options.write_expect.empty()) {
    expectations.emplace(options.write_expect, "--write-expect FILE");
  }
  outcome.level = request.options.level;
  outcome.stages = request.options.stages;
  outcome.expect = options.expect;
  outcome.model = options.model;
  outcome.spread = request.options.spread;

  const DeviceSelection selection = all_unless_named(context.devices);
  const auto start = std::chrono::steady_clock::now();
  Diagnosis diagnosis;
  examine_machine(selection, context, outcome, diagnosis);
  const double doctor_s = base::seconds_since(start);
  const std::vector<const PlatformAnswer*> dead = dead_platforms(diagnosis, selection);
  const std::shared_ptr<Platforms> platforms = context.make_platforms();
  const std::vector<Device> devices = choose_answering(*platforms, selection, dead);
  note_devices(environment, *platforms, devices);
  for (const Device& device : devices) {
    outcome.result.devices.push_back(checked_device(device));
    if (request.options.floors) request.options.floors->of(device.info().name);
  }
  add_doctor(diagnosis, dead, doctor_s, context, outcome);
  std::optional<base::TemporaryFolder> folder;
  if (request.options.model.is_made) {
    folder.emplace("check");
    request.options.model.path = make_small_model(folder->path());
  }
  request.options.child = {environment.program, request.options.patience_s,
                           context.devices.nvidia_ordinals, environment.system_root.string()};
  request.options.on_stage = [&context](const StageResult& stage) { tell_stage(context, stage); };
  if (!devices.empty()) run_check(devices, request.options, outcome.result);
  // Threads that a driver holds go on using the platforms.
  if (outcome.result.has_left_threads && environment.keep) environment.keep(platforms);
  compare_floors(request.options, outcome);
  judge_outcome(outcome);
  const bool is_good = !outcome.error && outcome.result.worst() == nullptr;
  if (expectations && is_good) {
    write_expectations(request, *expectations, options.write_expect, outcome);
  }
}

}  // namespace hiptool::cli
