// SPDX-License-Identifier: MIT
#include "base/contains.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.hpp"
#include "base/units.hpp"
#include "report/document.hpp"
#include "report/remarks.hpp"
#include "report/spread.hpp"
#include "results/run_kernel/report.hpp"
#include "results/seconds.hpp"
#include "results/wrong.hpp"

namespace hiptool::results {
namespace {

using measure::KernelFamily;
using measure::KernelResult;
using report::Status;
using report::Table;
using report::Tone;
using report::Unit;
using report::Value;

bool was_run(const KernelResult& result) { return result.checked > 0; }

Value size_of(const KernelResult& result) {
  return was_run(result) && result.size_bytes > 0 ? Value(result.size_bytes) : Value();
}

/// The rate that the kernel measures; for integers "OP/s" instead of "FLOP/s".
Value rate_of(const KernelResult& result) {
  if (result.flops_per_s && !result.bytes_per_s) {
    std::string text = report::format_value(*result.flops_per_s, Unit::operations);
    if (result.dtype.find('f') == std::string::npos) text.erase(text.find("FL"), 2);
    return text;
  }
  return result.bytes_per_s ? Value(format_rate(*result.bytes_per_s)) : Value();
}

Value shape_of(const KernelResult& result) {
  return was_run(result) ? report::text_or_absent(result.shape) : Value();
}

/// Remarks that explain the figures of a result.
void add_remarks(const KernelResult& result, std::vector<report::Remark>& remarks) {
  if (!was_run(result)) return;
  std::vector<std::string> others;
  for (const std::uint64_t size : result.requested_sizes_bytes) {
    if (size != result.size_bytes) others.push_back(format_size(size));
  }
  if (!others.empty()) {
    remarks.push_back(report::remark_of(
        result, Tone::plain, "",
        fmt::format("{} requested; this kernel rounds {} to {}", fmt::join(others, ", "),
                    others.size() == 1 ? "it" : "them", format_size(result.size_bytes))));
  }
  report::add_share_remark(result, remarks);
}

void add_wrong_line(const KernelResult& result, std::vector<report::Line>& notes) {
  if (!result.wrong) return;
  const report::WrongData& wrong = *result.wrong;
  const std::string place =
      wrong.first_index ? fmt::format(", first at {}", *wrong.first_index) : "";
  notes.push_back(
      {Tone::bad, fmt::format("wrong: {}: {} of {}{}: {}, xor 0x{:x}; {}", result.id, wrong.count,
                              base::plain_count_of(result.checked, "value"), place,
                              report::expected_text(wrong.expected, wrong.got), wrong.xor_bits,
                              report::second_read_text(wrong))});
}

void add_reason(const KernelResult& result, std::vector<report::Remark>& remarks) {
  if (result.reason.empty()) return;
  const bool is_failed = result.status == Status::failed;
  std::string lead =
      result.status == Status::ok ? "" : std::string(to_string(result.status)) + ": ";
  remarks.push_back(report::remark_of(result, is_failed ? Tone::bad : Tone::plain, std::move(lead),
                                      result.reason));
}

// "3 of 4 kernel runs right on cpu:0, 1 skipped"
std::string counts_text(const BuiltinOutcome& outcome) {
  const std::size_t skipped = outcome.count(Status::skipped);
  const std::string runs = base::plain_count_of(outcome.results.size() - skipped, "kernel run");
  std::string text = fmt::format("{} of {} right on {}", outcome.count(Status::ok), runs,
                                 devices_of(outcome.results));
  if (const std::size_t failed = outcome.count(Status::failed); failed > 0) {
    text += fmt::format(", {} failed", failed);
  }
  if (skipped > 0) text += fmt::format(", {} skipped", skipped);
  return text;
}

/// Thresholds, and devices that were slower than they should be.
std::string missed_text_of(const BuiltinOutcome& outcome) {
  std::string text = report::missed_text(outcome.thresholds);
  for (const accept::Fault& fault : outcome.faults) {
    text += fmt::format("{}{}: {} [{}]", text.empty() ? "" : "; ", fault.id(), fault.reason,
                        fault.code);
  }
  return text;
}

/// What a run on all devices at once has of each second, after what all kernels have.
void add_seconds(const BuiltinOutcome& outcome, report::Measurement& measured) {
  for (const accept::SoakedLoad& soaked : outcome.soaked) {
    if (soaked.device != measured.destination || soaked.label != measured.label) continue;
    for (auto& field : accept::measurement_of(soaked).details) {
      measured.details.push_back(std::move(field));
    }
  }
}

std::vector<report::Line> summary_lines(const BuiltinOutcome& outcome) {
  std::vector<report::Line> lines = report::parts_verdict(
      {.wrong = outcome.count(Status::mismatch),
       .wrong_on = devices_with(outcome.results, Status::mismatch),
       .error = outcome.error ? &*outcome.error : nullptr,
       .missed = missed_text_of(outcome),
       .counts = outcome.results.empty() ? std::string() : counts_text(outcome),
       .passed = ", every result checked"});
  for (const report::ThresholdResult& one : outcome.thresholds) {
    lines.push_back(one.is_met ? report::Line{Tone::good, "met: " + one.threshold}
                               : report::Line{Tone::bad, "MISSED: " + one.reason()});
  }
  return lines;
}

/// With the layout, unless it is the usual one.
std::string kernel_text(const KernelResult& result) {
  const bool is_usual = result.layout.empty() || result.layout == "packed";
  return is_usual ? result.kernel : result.kernel + " " + result.layout;
}

/// Operations alone have shapes, shown instead of sizes: both would exceed 80 columns.
std::vector<report::Column> columns_of_results(const std::vector<KernelResult>& results,
                                               bool is_of_measurement) {
  const bool has_shapes = std::all_of(results.begin(), results.end(),
                                      [](const auto& one) { return !one.layout.empty(); });
  std::vector<report::Column> columns{{"kernel", "Kernel"},
                                      {"dtype", "Type"},
                                      has_shapes
                                          ? report::Column{"shape", "Shape"}
                                          : report::Column{"size_bytes", "Size", Unit::size}};
  if (is_of_measurement) columns = {{"device", "Device"}};
  columns.push_back({"median_s", "Median", Unit::duration});
  columns.push_back({"rate", "Rate"});
  columns.push_back({"share_of_limit", "Of peak", Unit::share});
  columns.push_back({"status", "Status"});
  return columns;
}

/// A table for each device or, where that gives fewer, for each measurement.
std::vector<Table> result_tables(const std::vector<KernelResult>& results) {
  std::vector<std::string> devices;
  std::vector<std::string> labels;
  for (const KernelResult& result : results) {
    base::add_once(devices, result.destination);
    base::add_once(labels, result.label);
  }
  const bool is_of_measurement = labels.size() < devices.size();
  const std::vector<report::Column> columns = columns_of_results(results, is_of_measurement);
  const bool has_shapes = columns[columns.size() - 5].key == "shape";
  std::vector<Table> tables;
  for (const KernelResult& result : results) {
    const std::string& title = is_of_measurement ? result.label : result.destination;
    auto table = std::find_if(tables.begin(), tables.end(),
                              [&title](const Table& one) { return one.title == title; });
    if (table == tables.end()) table = tables.insert(tables.end(), Table{title, columns, {}});
    std::vector<Value> row{kernel_text(result), report::text_or_absent(result.dtype),
                           has_shapes ? shape_of(result) : size_of(result)};
    if (is_of_measurement) row = {result.destination};
    row.push_back(result.median_s);
    row.push_back(rate_of(result));
    row.push_back(result.share_of_limit);
    row.push_back(to_string(result.status));
    table->rows.push_back(std::move(row));
  }
  // The verdict names the device.
  if (tables.size() == 1 && !is_of_measurement) tables.front().title.clear();
  return tables;
}

Table families_table(const std::vector<KernelFamily>& families) {
  Table table;
  table.columns = {{"name", "Name"},
                   {"group", "Group"},
                   {"dtypes", "Types"},
                   {"description", "What it does"},
                   {"kind", "Kind"}};
  for (const KernelFamily& family : families) {
    table.rows.push_back({family.name, family.group,
                          fmt::format("{}", fmt::join(family.dtypes, " ")), family.description,
                          family.is_operation ? "operation" : "kernel"});
  }
  return table;
}

Value family_value(const KernelFamily& family) {
  const auto& usual = family.usual_dtypes.empty() ? family.dtypes : family.usual_dtypes;
  return report::Object{{"name", family.name},
                        {"group", family.group},
                        {"dtypes", report::Array(family.dtypes.begin(), family.dtypes.end())},
                        {"usual_dtypes", report::Array(usual.begin(), usual.end())},
                        {"description", family.description}};
}

std::vector<Table> group_tables(const std::vector<KernelFamily>& families) {
  constexpr std::size_t most_types = 6;
  std::vector<Table> tables;
  for (const KernelFamily& family : families) {
    const std::string title = (family.is_operation ? "operations: " : "") + family.group +
                              (family.group == "units" ? ": shared memory and atomics" : "");
    auto table = std::find_if(tables.begin(), tables.end(),
                              [&](const Table& one) { return one.title == title; });
    if (table == tables.end()) {
      tables.push_back(
          {title, {{"name", "Name"}, {"description", "What it does"}, {"dtypes", "Types"}}, {}});
      table = tables.end() - 1;
    }
    const std::string types = family.dtypes.size() > most_types
                                  ? fmt::format("{} types", family.dtypes.size())
                                  : fmt::format("{}", fmt::join(family.dtypes, " "));
    table->rows.push_back({family.name, family.description, types});
  }
  return tables;
}

}  // namespace

const char* verdict_word(Status status) {
  switch (status) {
    case Status::ok: return "right";
    case Status::mismatch: return "WRONG";
    case Status::failed: return "failed";
    default: return "skipped";
  }
}

report::Report kernel_list_report(report::Run run, const std::vector<KernelFamily>& families) {
  report::Report report = report::start_report(std::move(run));
  report::Array of_all;
  report::Array of_ops;
  for (const KernelFamily& family : families) {
    if (family.is_in_all) of_all.push_back(family_value(family));
    if (family.is_operation) of_ops.push_back(family_value(family));
  }
  report.verdict.push_back(
      {Tone::plain, fmt::format("{} kernels and {} operations; a group's name runs all of it",
                                families.size() - of_ops.size(), of_ops.size())});
  report.document.emplace_back("kernels", std::move(of_all));
  report.document.emplace_back("operations", std::move(of_ops));
  report.tables = group_tables(families);
  report.csv_tables = {families_table(families)};
  return report;
}

std::string describe_result(const KernelResult& result) {
  std::string text = result.id + ": ";
  if (result.status == Status::mismatch) return text + "WRONG RESULT";
  if (result.status != Status::ok) {
    return text + fmt::format("{}: {}", to_string(result.status), result.reason);
  }
  const Value rate = rate_of(result);
  text += rate.is_absent() ? format_duration(result.median_s.value_or(0))
                           : report::format_value(rate, Unit::none);
  if (!result.share_of_limit) return text;
  return text + fmt::format(", {} of peak", format_share(*result.share_of_limit));
}

std::vector<report::Failure> failures_of(const BuiltinOutcome& outcome) {
  std::vector<report::Failure> failures;
  add_failures_of_wrong(outcome.results, failures);
  for (report::Failure& one : failures_of(outcome.thresholds)) failures.push_back(std::move(one));
  for (const accept::Fault& fault : outcome.faults) {
    failures.push_back({fault.id(),
                        fault.expected,
                        fault.got,
                        report::FailureKind::straggler,
                        {.device = fault.device, .measurement = fault.id()},
                        fault.reason,
                        fault.action,
                        fault.code,
                        machine::action_class_of(fault.code)});
  }
  return failures;
}

std::string describe_progress(const measure::KernelProgress& progress) {
  std::string text =
      fmt::format("{}: {:.0f} of {:.0f} s", progress.id, progress.elapsed_s, progress.soak_s);
  if (progress.bytes_per_s > 0) return text + ", " + format_rate(progress.bytes_per_s);
  if (progress.flops_per_s <= 0) return text;
  return text + ", " + report::format_value(progress.flops_per_s, Unit::operations);
}

report::Report kernel_results_report(report::Run run, const BuiltinOutcome& outcome) {
  report::Report report = report::start_report(std::move(run));
  std::vector<report::Measurement> measurements;
  std::vector<report::Remark> remarks;
  for (const KernelResult& result : outcome.results) {
    measurements.push_back(measurement_of(result));
    add_seconds(outcome, measurements.back());
    add_wrong_line(result, report.notes);
    add_reason(result, remarks);
    add_remarks(result, remarks);
  }
  for (report::Line& line : lines_of(remarks)) report.notes.push_back(std::move(line));
  set_measurements(report, std::move(measurements));
  for (const std::string& text :
       {report::variation_text(report.measurements), report::cpu_rates_text(report.measurements)}) {
    if (!text.empty()) report.notes.push_back({Tone::plain, text});
  }
  set_thresholds(report, outcome.thresholds);
  report.verdict = summary_lines(outcome);
  add_action_lines(report);
  report.document.emplace_back("seed", outcome.seed);
  report.tables = result_tables(outcome.results);
  for (Table& seconds : seconds_tables(report.measurements)) {
    report.tables.push_back(std::move(seconds));
  }
  return report;
}

}  // namespace hiptool::results
