// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "base/contains.hpp"
#include "base/text.hpp"
#include "report/fields.hpp"
#include "report/spread.hpp"
#include "report/text.hpp"
#include "report/verdict.hpp"
#include "results/check/report.hpp"
#include "results/check/screen.hpp"
#include "results/devices/doctor.hpp"
#include "results/seconds.hpp"

namespace hiptool::results {
namespace {

using accept::CheckedDevice;
using accept::CheckOutcome;
using accept::Fault;
using accept::StageResult;
using accept::StageStatus;
using report::Array;
using report::Object;
using report::Value;

int exit_code_of_stage(const StageResult& stage) {
  return stage.status == StageStatus::failed ? accept::exit_code_of(stage.faults.front())
                                             : report::exit_done;
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

/// Of what the device did meanwhile: a member of the telemetry, with its unit for people.
report::Field<StageResult> telemetry_field(report::Column column, const char* member,
                                           const char* unit = "") {
  const auto value = [member](const StageResult& one) {
    const auto number = report::number_of(report::member(one.telemetry, member));
    return number ? Value(*number) : Value();
  };
  if (*unit == 0) return {std::move(column), value};
  const auto shown = [value, unit](const StageResult& one) {
    const auto number = report::number_of(value(one));
    return number ? Value(fmt::format("{:.0f} {}", *number, unit)) : Value();
  };
  return {std::move(column), value, shown};
}

std::string throttle_of(const StageResult& stage) {
  std::vector<std::string> reasons;
  for (const Value& one : report::elements(report::member(stage.telemetry, "throttle"))) {
    reasons.push_back(report::text_of(one));
  }
  return fmt::format("{}", fmt::join(reasons, ", "));
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
      {{"device", "Device"}, report::text_or_absent(&StageResult::device), device_or_machine},
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
      {{"figures", "Figures", report::Unit::none, true},
       report::text_or_absent(&StageResult::figures)},
      {{"time_s"}, &StageResult::time_s},
      {{"telemetry"}, [](One one) { return one.telemetry; }},
      telemetry_field({"median_clock_hz", "Clock", report::Unit::frequency}, "median_clock_hz"),
      telemetry_field({"median_memory_clock_hz", "Memory clock", report::Unit::frequency},
                      "median_memory_clock_hz"),
      telemetry_field({"most_power_w", "Power"}, "most_power_w", "W"),
      telemetry_field({"most_temperature_c", "Temperature"}, "most_temperature_c", "C"),
      {{"throttle", "Held down by", report::Unit::none, true},
       [](One one) { return report::text_or_absent(throttle_of(one)); }},
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
  const accept::ExpectationResults& compared = outcome.result.expectations;
  const std::vector<std::string>& absent = compared.not_measured;
  const auto gpus_value = [](const accept::CountedGpus& one) {
    return Object{{"name", one.name},
                  {"expected", std::uint64_t{one.expected}},
                  {"found", std::uint64_t{one.found}}};
  };
  return Object{{"file", outcome.expect},
                {"judged", std::uint64_t{compared.judged}},
                {"not_measured", Array(absent.begin(), absent.end())},
                {"gpus", report::array_of(compared.gpus, gpus_value)}};
}

void add_check_fields(const CheckOutcome& outcome, Object& document) {
  document.emplace_back("level", to_string(outcome.level));
  document.emplace_back("chosen_stages", Array(outcome.stages.begin(), outcome.stages.end()));
  document.emplace_back("devices", devices_of_check(outcome));
  document.emplace_back("stages", stage_fields()
                                      .without({"stage_exit_code", "result", "median_clock_hz",
                                                "median_memory_clock_hz", "most_power_w",
                                                "most_temperature_c", "throttle"})
                                      .objects(outcome.result.stages));
  document.emplace_back("expect", expect_value(outcome));
  document.emplace_back("written", report::text_or_absent(outcome.written));
  document.emplace_back("model", report::text_or_absent(outcome.model));
  document.emplace_back("spread", outcome.spread);
  const auto& unlimited = outcome.result.without_limits;
  document.emplace_back("without_limits", Array(unlimited.begin(), unlimited.end()));
  document.emplace_back("doctor", report::objects_of(checks_table(outcome.doctor)));
  document.emplace_back("wall_time_s", outcome.wall_time_s);
}

/// A line for each device and stage.
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
  report::Table table =
      stage_fields().only({"device", "stage", "status", "result"}).table("", by_device);
  const std::size_t column = 2;  // of the status
  for (const StageResult& stage : by_device) {
    auto& tones = table.tones.emplace_back(column, report::Tone::plain);
    tones.push_back(stage.status == StageStatus::failed    ? report::Tone::bad
                    : stage.status == StageStatus::skipped ? report::Tone::warning
                                                           : report::Tone::plain);
  }
  table.is_detail = !outcome.has_every_line;
  return table;
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

/// An error that no stage has.
std::vector<Fault> unstaged_faults(const CheckOutcome& outcome) {
  if (!outcome.error || outcome.error_code.empty()) return {};
  return {{outcome.error_code, "check", "", outcome.error->what(), outcome.error->hint(),
           outcome.error}};
}

report::Table stages_csv(const CheckOutcome& outcome) {
  std::vector<StageResult> rows = rows_of_csv(outcome);
  for (Fault& fault : unstaged_faults(outcome)) {
    StageResult row;
    row.stage = "check";
    row.status = StageStatus::failed;
    row.faults = {std::move(fault)};
    rows.push_back(std::move(row));
  }
  return stage_fields()
      .only({"device", "stage", "status", "stage_exit_code", "time_s", "result", "action",
             "figures", "code", "action_class", "median_clock_hz", "median_memory_clock_hz",
             "most_power_w", "most_temperature_c", "throttle"})
      .rows(rows);
}

/// Clocks, power and temperature during the rates; without rows where no sensor was read.
report::Table telemetry_table(const CheckOutcome& outcome) {
  std::vector<StageResult> read;
  std::copy_if(outcome.result.stages.begin(), outcome.result.stages.end(), std::back_inserter(read),
               [](const StageResult& one) { return !one.telemetry.is_absent(); });
  report::Table table =
      stage_fields()
          .only({"device", "stage", "median_clock_hz", "median_memory_clock_hz", "most_power_w",
                 "most_temperature_c", "throttle", "figures"})
          .table("Clocks (median), power and temperature (highest) during each stage", read);
  table.is_detail = !outcome.has_every_line;
  return table;
}

void add_stages(const CheckOutcome& outcome, report::Report& report) {
  set_measurements(report,
                   {outcome.result.measurements.begin(), outcome.result.measurements.end()});
}

/// The id of the measurement that a fault is about; empty for none.
std::string measured_id_of(const CheckOutcome& outcome, const Fault& fault) {
  const std::string id = fault.id();
  const auto& list = outcome.result.measurements;
  const bool is_one =
      std::any_of(list.begin(), list.end(), [&id](const auto& one) { return one.id == id; });
  return is_one ? id : std::string();
}

}  // namespace

std::string describe_stage(const StageResult& stage) {
  std::string text =
      fmt::format("{} {}: {}", device_or_machine(stage), stage.stage, to_string(stage.status));
  if (!stage.text().empty()) text += ": " + stage.text();
  return text;
}

std::vector<report::Failure> failures_of(const CheckOutcome& outcome) {
  std::vector<report::Failure> failures;
  for (const StageResult* stage : failed_stages(outcome)) {
    const Fault& fault = stage->faults.front();
    failures.push_back({stage->stage + (stage->device.empty() ? "" : " " + stage->device),
                        fault.expected,
                        fault.got,
                        report::FailureKind::stage,
                        {.device = stage->device,
                         .stage = stage->stage,
                         .measurement = measured_id_of(outcome, fault)},
                        stage->text(),
                        fault.action,
                        fault.code,
                        machine::action_class_of(fault.code)});
  }
  for (const Fault& fault : unstaged_faults(outcome)) {
    failures.push_back({fault.what,
                        {},
                        {},
                        report::FailureKind::error,
                        {},
                        fault.reason,
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
  report.tables = {stage_grid(outcome), stages_table(outcome)};
  if (report::Table read = telemetry_table(outcome); !read.rows.empty()) {
    report.tables.push_back(std::move(read));
  }
  for (report::Table& seconds : seconds_tables(report.measurements)) {
    report.tables.push_back(std::move(seconds));
  }
  report.notes = check_notes(outcome);
  const std::string cpu_rates = report::cpu_rates_text(report.measurements);
  if (!cpu_rates.empty()) report.notes.push_back({report::Tone::plain, cpu_rates});
  report.csv_tables = {stages_csv(outcome)};
  if (auto seconds = seconds_csv(report.measurements)) {
    report.csv_tables->front().title = "stages";
    report.csv_tables->push_back(std::move(*seconds));
  }
  return report;
}

}  // namespace hiptool::results
