// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "base/contains.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "machine/selection.hpp"
#include "report/fields.hpp"
#include "report/text.hpp"
#include "report/verdict.hpp"
#include "results/check/report.hpp"
#include "results/devices/doctor.hpp"

namespace hiptool::results {
namespace {

using accept::CheckedDevice;
using accept::CheckOutcome;
using accept::Fault;
using accept::StageResult;
using accept::StageStatus;
using report::Array;
using report::Line;
using report::Object;
using report::Tone;
using report::Value;

constexpr std::size_t terminal_columns = 80;

int exit_code_of_stage(const StageResult& stage) {
  return stage.status == StageStatus::failed ? accept::exit_code_of(stage.faults.front())
                                             : report::exit_done;
}

std::string device_or_all(const StageResult& stage) {
  return stage.device.empty() ? "machine" : stage.device;
}

std::string action_of_stage(const StageResult& stage) {
  return stage.faults.empty() ? std::string() : stage.faults.front().action;
}

// ---- the document

Value faults_value(const std::vector<Fault>& faults) {
  return report::array_of(faults, [](const Fault& fault) {
    return Object{{"what", fault.id()},
                  {"code", fault.code},
                  {"action_class", machine::action_class_of(fault.code)},
                  {"reason", fault.reason},
                  {"action", fault.action},
                  {"exit_code", accept::exit_code_of(fault)},
                  {"expected", fault.expected},
                  {"got", fault.got}};
  });
}

Value warnings_value(const std::vector<Fault>& warnings) {
  return report::array_of(warnings, [](const Fault& warning) {
    return Object{{"what", warning.id()},
                  {"code", warning.code},
                  {"action_class", machine::action_class_of(warning.code)},
                  {"severity", to_string(warning.severity)},
                  {"reason", warning.reason},
                  {"action", warning.action}};
  });
}

std::string code_of_stage(const StageResult& stage) {
  return stage.faults.empty() ? std::string() : stage.faults.front().code;
}

report::Fields<StageResult> stage_fields() {
  using One = const StageResult&;
  const auto reason = [](One one) {
    const bool has_one = one.status == StageStatus::skipped || !one.faults.empty();
    return has_one ? report::text_or_absent(one.text()) : Value();
  };
  // A warning in a row of its own, as CSV has them, has its severity.
  const auto status = [](One one) {
    const bool is_warning = one.status != StageStatus::failed && !one.faults.empty();
    return is_warning ? to_string(one.faults.front().severity) : to_string(one.status);
  };
  const auto result = [](One one) {
    return one.status == StageStatus::failed ? one.faults.front().reason : one.text();
  };
  return {
      {{"stage", "Stage"}, &StageResult::stage},
      {{"device", "Device"}, report::text_or_absent(&StageResult::device), device_or_all},
      {{"status", "Status"}, status},
      {{"exit_code"}, exit_code_of_stage},
      {{"stage_exit_code"}, exit_code_of_stage},
      {{"reason"}, reason},
      {{"result", "Result", report::Unit::none, true},
       [](One one) { return report::text_or_absent(one.text()); },
       result},
      {{"action"}, [](One one) { return report::text_or_absent(action_of_stage(one)); }},
      {{"code"}, [](One one) { return report::text_or_absent(code_of_stage(one)); }},
      {{"action_class"},
       [](One one) {
         return report::text_or_absent(machine::action_class_of(code_of_stage(one)));
       }},
      {{"figures"}, report::text_or_absent(&StageResult::figures)},
      {{"time_s"}, &StageResult::time_s},
      {{"telemetry"}, [](One one) { return one.telemetry; }},
      {{"faults"}, [](One one) { return faults_value(one.faults); }},
      {{"warnings"}, [](One one) { return warnings_value(one.warnings); }},
  };
}

Value devices_of_check(const CheckOutcome& outcome) {
  return report::array_of(outcome.result.devices, [](const CheckedDevice& device) {
    return Object{{"id", device.id},
                  {"platform", to_string(device.platform)},
                  {"name", device.info.name},
                  {"arch", device.info.arch},
                  {"uuid", device.info.uuid},
                  {"pci_bus_id", device.info.pci_bus_id},
                  {"passed", device.has_passed}};
  });
}

Value expect_value(const CheckOutcome& outcome) {
  if (outcome.expect.empty()) return {};
  const auto& [judged, not_measured, gpus] = outcome.result.expectations;
  const auto gpus_value = [](const accept::CountedGpus& one) {
    return Object{{"name", one.name},
                  {"expected", std::uint64_t{one.expected}},
                  {"found", std::uint64_t{one.found}}};
  };
  return Object{{"file", outcome.expect},
                {"judged", std::uint64_t{judged}},
                {"not_measured", Array(not_measured.begin(), not_measured.end())},
                {"gpus", report::array_of(gpus, gpus_value)}};
}

void add_check_fields(const CheckOutcome& outcome, Object& document) {
  document.emplace_back("level", to_string(outcome.level));
  document.emplace_back("chosen_stages", Array(outcome.stages.begin(), outcome.stages.end()));
  document.emplace_back("devices", devices_of_check(outcome));
  document.emplace_back(
      "stages",
      stage_fields().without({"stage_exit_code", "result"}).objects(outcome.result.stages));
  document.emplace_back("expect", expect_value(outcome));
  document.emplace_back("written", report::text_or_absent(outcome.written));
  document.emplace_back("model", report::text_or_absent(outcome.model));
  document.emplace_back("spread", outcome.spread);
  const auto& unlimited = outcome.result.without_limits;
  document.emplace_back("without_limits", Array(unlimited.begin(), unlimited.end()));
  document.emplace_back("doctor", report::objects_of(checks_table(outcome.doctor)));
  document.emplace_back("wall_time_s", outcome.wall_time_s);
}

// ---- for people

std::string devices_text(const std::vector<CheckedDevice>& devices) {
  const bool are_gpus = std::all_of(devices.begin(), devices.end(), [](const CheckedDevice& one) {
    return machine::is_gpu(one.platform);
  });
  return base::count_of(devices.size(), are_gpus ? "GPU" : "device");
}

std::string fault_text(const StageResult& stage, const Fault& fault) {
  return fmt::format("{}: {}: {} [{}]", device_or_all(stage), stage.stage, stage.text_of(fault),
                     fault.code);
}

/// All failed stages, the worst first.
std::vector<const StageResult*> failed_stages(const CheckOutcome& outcome) {
  std::vector<const StageResult*> failed;
  for (const StageResult& stage : outcome.result.stages) {
    if (stage.status == StageStatus::failed) failed.push_back(&stage);
  }
  std::stable_sort(failed.begin(), failed.end(), [](const auto* left, const auto* right) {
    return accept::is_worse(left->faults.front(), right->faults.front());
  });
  return failed;
}

/// Ids of the doctor's warnings about the machine and the devices that were checked, each once, and
/// how many there are.
struct Warnings {
  std::size_t count = 0;
  std::vector<std::string> ids;
};

Warnings warnings_of(const CheckOutcome& outcome) {
  Warnings warnings;
  const auto& stages = outcome.stages;
  if (std::find(stages.begin(), stages.end(), "doctor") == stages.end()) return warnings;
  for (const machine::Check& check : outcome.doctor) {
    const auto& devices = outcome.result.devices;
    const bool is_checked = check.device.empty() || std::any_of(devices.begin(), devices.end(),
                                                                [&](const CheckedDevice& device) {
                                                                  return device.id == check.device;
                                                                });
    if (check.severity != machine::Severity::warn || !is_checked) continue;
    ++warnings.count;
    base::add_once(warnings.ids, check.id);
  }
  return warnings;
}

/// What a verdict begins with: "accepted: ".
std::string lead_of(const CheckOutcome& outcome, const char* verdict) {
  return std::string(verdict) + (outcome.has_no_gpu ? ": no GPU found, CPU checked: " : ": ");
}

std::string accepted_text(const CheckOutcome& outcome) {
  const std::size_t skipped = outcome.result.count(StageStatus::skipped);
  const std::size_t warnings = warnings_of(outcome).count;
  return fmt::format("{}{}, {} each{}{}, in {}", lead_of(outcome, "accepted"),
                     devices_text(outcome.result.devices),
                     base::count_of(outcome.stages.size(), "stage"),
                     skipped > 0 ? fmt::format(" ({} skipped)", skipped) : "",
                     warnings > 0 ? ", " + base::count_of(warnings, "warning") : "",
                     format_duration(outcome.wall_time_s));
}

std::vector<Line> check_verdict(const CheckOutcome& outcome) {
  const auto failed = failed_stages(outcome);
  std::vector<Line> lines;
  if (failed.empty() && outcome.error) {
    const bool is_interrupted = outcome.error->code() == ErrorCode::cancelled;
    lines.push_back(report::failure_line(
        is_interrupted
            ? fmt::format("interrupted after {}",
                          base::count_of(outcome.result.count(StageStatus::passed), "passed stage"))
            : fmt::format("refused: {}{}", outcome.has_no_gpu ? "no GPU found; " : "",
                          outcome.error->what())));
    return lines;
  }
  if (failed.empty()) {
    lines.push_back({Tone::good, accepted_text(outcome)});
    if (const std::string unknown = accept::limits_text(outcome); !unknown.empty())
      lines.push_back({Tone::plain, unknown});
    return lines;
  }
  constexpr std::size_t most_faults = 3;  // of a stage; the document has all
  for (const StageResult* stage : failed) {
    for (std::size_t i = 0; i < stage->faults.size() && i < most_faults; ++i) {
      const std::string lead = lines.empty() ? lead_of(outcome, "refused") : "";
      lines.push_back({Tone::bad, lead + fault_text(*stage, stage->faults[i]), lines.empty()});
    }
    if (stage->faults.size() > most_faults) {
      lines.push_back({Tone::bad, fmt::format("{}: {}: and {} more", device_or_all(*stage),
                                              stage->stage, stage->faults.size() - most_faults)});
    }
    lines.push_back({Tone::plain, "  to do: " + action_of_stage(*stage)});
  }
  return lines;
}

/// A line for each device and stage, in 80 columns.
report::Table stages_table(const CheckOutcome& outcome) {
  std::vector<std::string> devices{""};
  for (const CheckedDevice& device : outcome.result.devices) base::add_once(devices, device.id);
  // Of a platform that does not answer too.
  for (const StageResult& stage : outcome.result.stages) base::add_once(devices, stage.device);
  std::vector<StageResult> by_device;
  for (const std::string& id : devices) {
    std::copy_if(outcome.result.stages.begin(), outcome.result.stages.end(),
                 std::back_inserter(by_device),
                 [&id](const StageResult& stage) { return stage.device == id; });
  }
  return stage_fields().only({"device", "stage", "status", "result"}).table("", by_device);
}

/// Every stage, and after it its findings of further codes as rows of their own.
std::vector<StageResult> rows_of_csv(const CheckOutcome& outcome) {
  std::vector<StageResult> rows;
  for (const StageResult& stage : outcome.result.stages) {
    rows.push_back(stage);
    std::vector<std::string> codes{code_of_stage(stage)};
    std::vector<Fault> findings = stage.faults;
    findings.insert(findings.end(), stage.warnings.begin(), stage.warnings.end());
    for (Fault& finding : findings) {
      if (base::contains(codes, finding.code)) continue;
      codes.push_back(finding.code);
      const bool is_fault = finding.severity == machine::Severity::fail;
      StageResult row;
      row.stage = stage.stage;
      row.device = stage.device;
      row.status = is_fault ? StageStatus::failed : StageStatus::skipped;
      row.reason = stage.text_of(finding);
      row.faults = {std::move(finding)};
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

report::Table stages_csv(const CheckOutcome& outcome) {
  return stage_fields()
      .only({"device", "stage", "status", "stage_exit_code", "time_s", "result", "action",
             "figures", "code", "action_class"})
      .rows(rows_of_csv(outcome));
}

/// One line for each stage and reason, with the devices it is of.
void add_skipped(const CheckOutcome& outcome, std::vector<Line>& notes) {
  std::vector<std::pair<const StageResult*, std::vector<std::string>>> skipped;
  for (const StageResult& stage : outcome.result.stages) {
    if (stage.status != StageStatus::skipped) continue;
    auto found = std::find_if(skipped.begin(), skipped.end(), [&](const auto& one) {
      return one.first->stage == stage.stage && one.first->reason == stage.reason;
    });
    if (found == skipped.end()) found = skipped.insert(skipped.end(), {&stage, {}});
    found->second.push_back(device_or_all(stage));
  }
  for (const auto& [stage, devices] : skipped) {
    notes.push_back({Tone::plain, fmt::format("skipped {} on {}: {}", stage->stage,
                                              fmt::join(devices, ", "), stage->reason)});
  }
}

/// The warnings of stages, and what was not looked at, each once with the devices it is of.
void add_findings(const CheckOutcome& outcome, std::vector<Line>& notes) {
  struct Shared {
    const StageResult* stage;
    const Fault* finding;
    std::vector<std::string> devices;
  };
  std::vector<Shared> list;
  for (const StageResult& stage : outcome.result.stages) {
    if (stage.stage == "doctor") continue;
    for (const Fault& finding : stage.warnings) {
      auto found = std::find_if(list.begin(), list.end(), [&](const Shared& one) {
        return one.stage->stage == stage.stage && one.finding->code == finding.code &&
               one.finding->what == finding.what;
      });
      if (found == list.end()) found = list.insert(list.end(), {&stage, &finding, {}});
      found->devices.push_back(device_or_all(stage));
    }
  }
  for (const auto& [stage, finding, devices] : list) {
    const bool is_warning = finding->severity == machine::Severity::warn;
    notes.push_back({is_warning ? Tone::warning : Tone::plain,
                     fmt::format("{}: {}: {}: {} [{}]", is_warning ? "warning" : "not examined",
                                 fmt::join(devices, ", "), stage->stage, stage->text_of(*finding),
                                 finding->code)});
  }
}

std::vector<Line> check_notes(const CheckOutcome& outcome) {
  std::vector<Line> notes;
  add_skipped(outcome, notes);
  const auto& expectations = outcome.result.expectations;
  if (!outcome.expect.empty()) {
    std::size_t gpus = 0;
    for (const accept::CountedGpus& one : expectations.gpus) gpus += one.found;
    std::string text = base::count_of(expectations.judged, "rate");
    if (!expectations.gpus.empty())
      text += " and the number of GPUs, " + std::to_string(gpus) + ",";
    notes.push_back({Tone::plain, text + " compared with " + outcome.expect});
  }
  if (!expectations.not_measured.empty()) {
    notes.push_back(
        {Tone::plain,
         fmt::format("not measured here, though expected: {}{}", expectations.not_measured.front(),
                     expectations.not_measured.size() > 1
                         ? fmt::format(" and {} more", expectations.not_measured.size() - 1)
                         : "")});
  }
  for (const std::string& reason : outcome.no_gpu_reasons) notes.push_back({Tone::plain, reason});
  if (const Warnings warnings = warnings_of(outcome); warnings.count > 0) {
    notes.push_back({Tone::warning, fmt::format("{}: {}; see `hiptool devices --doctor`",
                                                base::count_of(warnings.count, "warning"),
                                                fmt::join(warnings.ids, ", "))});
  }
  add_findings(outcome, notes);
  if (!outcome.written.empty()) {
    notes.push_back({Tone::plain, "wrote expectations to " + outcome.written});
  }
  if (!outcome.not_written.empty()) {
    notes.push_back({Tone::warning, fmt::format("no expectations were written to {}, because this "
                                                "run did not pass",
                                                outcome.not_written)});
  }
  return notes;
}

void add_stages(const CheckOutcome& outcome, report::Report& report) {
  set_measurements(report,
                   {outcome.result.measurements.begin(), outcome.result.measurements.end()});
}

}  // namespace

std::string describe_stage(const StageResult& stage) {
  std::string text =
      fmt::format("{} {}: {}", device_or_all(stage), stage.stage, to_string(stage.status));
  if (!stage.text().empty()) text += ": " + stage.text();
  return report::shorten(text, terminal_columns);
}

std::vector<report::Failure> failures_of(const CheckOutcome& outcome) {
  std::vector<report::Failure> failures;
  for (const StageResult* stage : failed_stages(outcome)) {
    const Fault& fault = stage->faults.front();
    failures.push_back({stage->stage + (stage->device.empty() ? "" : " " + stage->device),
                        fault.expected,
                        fault.got,
                        report::FailureKind::stage,
                        {.device = stage->device, .stage = stage->stage},
                        stage->text(),
                        fault.action,
                        fault.code,
                        machine::action_class_of(fault.code)});
  }
  return failures;
}

report::Report check_report(report::Run run, const CheckOutcome& outcome) {
  report::Report report = report::start_report(std::move(run));
  add_stages(outcome, report);
  add_check_fields(outcome, report.document);
  report.checks =
      report::checks_of_stages(report::elements(report::member(report.document, "stages")));
  report.verdict = check_verdict(outcome);
  report.tables = {stages_table(outcome)};
  report.notes = check_notes(outcome);
  report.csv_tables = {stages_csv(outcome)};
  return report;
}

}  // namespace hiptool::results
