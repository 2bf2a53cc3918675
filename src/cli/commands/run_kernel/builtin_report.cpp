// SPDX-License-Identifier: MIT
#include "cli/commands/run_kernel/builtin_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/document.hpp"
#include "hiptool/units.hpp"

namespace hiptool::cli {
namespace {

using measure::KernelFamily;
using measure::KernelResult;
using measure::KernelStatus;
using report::Table;
using report::Tone;
using report::Unit;
using report::Value;

bool was_run(const KernelResult& result) { return result.checked > 0; }

Value size_of(const KernelResult& result) {
  return was_run(result) ? Value(result.size_bytes) : Value();
}

/// The one that the kernel is for. Of whole numbers it is no floating-point one.
Value rate_of(const KernelResult& result) {
  if (result.flops_per_s && !result.bytes_per_s) {
    std::string text = report::format_value(*result.flops_per_s, Unit::operations);
    if (result.dtype.find('f') == std::string::npos) text.erase(text.find("FL"), 2);
    return text;
  }
  return result.bytes_per_s ? Value(format_rate(*result.bytes_per_s)) : Value();
}

Value wrong_value(const std::optional<measure::WrongValues>& wrong) {
  if (!wrong) return {};
  return report::Object{{"first_bad_index", wrong->first_bad_index},
                        {"expected", wrong->expected},
                        {"got", wrong->got},
                        {"xor_bits", wrong->xor_bits},
                        {"count", wrong->count},
                        {"reread_agrees", wrong->reread_agrees}};
}

Value result_value(const KernelResult& result) {
  const bool has_run = was_run(result);
  return report::Object{
      {"id", result.id},
      {"kernel", result.kernel},
      {"device", result.device},
      {"dtype", text_or_absent(result.dtype)},
      {"elements", has_run ? Value(result.elements) : Value()},
      {"size_bytes", size_of(result)},
      {"status", to_string(result.status)},
      {"reason", text_or_absent(result.reason)},
      {"checked", has_run ? Value(result.checked) : Value()},
      {"max_error", has_run ? Value(result.max_error) : Value()},
      {"tolerance", has_run ? Value(result.tolerance) : Value()},
      {"wrong", wrong_value(result.wrong)},
      {"samples_s", report::Array(result.samples_s.begin(), result.samples_s.end())},
      {"median_s", result.median_s},
      {"bytes_per_s", result.bytes_per_s},
      {"flops_per_s", result.flops_per_s},
      {"share_of_peak", result.share_of_peak},
      {"peak_source", text_or_absent(result.peak_source)},
      {"clock_hz", result.clock_hz}};
}

void add_lines(const KernelResult& result, std::vector<report::Line>& notes) {
  if (result.wrong) {
    const measure::WrongValues& wrong = *result.wrong;
    const std::string place =
        wrong.first_bad_index ? fmt::format(", first at {}", *wrong.first_bad_index) : "";
    notes.push_back(
        {Tone::bad,
         fmt::format("wrong: {}: {} of {} values{}: expected {}, got {}, xor 0x{:x}; reading again "
                     "gives {}",
                     result.id, wrong.count, result.checked, place,
                     report::format_value(wrong.expected, Unit::none),
                     report::format_value(wrong.got, Unit::none), wrong.xor_bits,
                     wrong.reread_agrees ? "the same" : "something else")});
  }
  if (!result.reason.empty()) {
    const bool is_failed = result.status == KernelStatus::failed;
    notes.push_back(
        {is_failed ? Tone::bad : Tone::plain,
         fmt::format("{}: {}: {}", to_string(result.status), result.id, result.reason)});
  }
}

report::Array thresholds_value(const BuiltinOutcome& outcome) {
  report::Array values;
  for (const KernelJudgement& judgement : outcome.judgements) {
    values.push_back(report::Object{{"threshold", judgement.threshold},
                                    {"is_met", judgement.below.empty()},
                                    {"reason", text_or_absent(judgement.below)}});
  }
  return values;
}

/// Devices in the order in which they were used.
std::string devices_of(const std::vector<KernelResult>& results) {
  std::vector<std::string> devices;
  for (const KernelResult& result : results) {
    if (std::find(devices.begin(), devices.end(), result.device) == devices.end()) {
      devices.push_back(result.device);
    }
  }
  return fmt::format("{}", fmt::join(devices, ", "));
}

report::Line main_line(const BuiltinOutcome& outcome, const Error* error) {
  const std::size_t wrong = outcome.count(KernelStatus::mismatch);
  const std::size_t failed = outcome.count(KernelStatus::failed);
  const std::size_t skipped = outcome.count(KernelStatus::skipped);
  const std::size_t right = outcome.count(KernelStatus::ok);
  const std::string what =
      fmt::format("{} of {} kernel runs right on {}", right, outcome.results.size() - skipped,
                  devices_of(outcome.results));
  std::string rest;
  if (failed > 0) rest += fmt::format(", {} failed", failed);
  if (skipped > 0) rest += fmt::format(", {} skipped", skipped);
  if (wrong > 0) return {Tone::bad, fmt::format("WRONG RESULTS of {}: {}{}", wrong, what, rest)};
  if (outcome.results.empty()) return {Tone::warning, "interrupted before a kernel was done"};
  if (error != nullptr && error->code() == ErrorCode::cancelled) {
    return {Tone::warning, fmt::format("interrupted: {}{}", what, rest)};
  }
  if (error != nullptr) return {Tone::bad, fmt::format("failed: {}{}", what, rest)};
  if (!outcome.is_good_enough()) return {Tone::bad, fmt::format("TOO SLOW: {}{}", what, rest)};
  if (right == 0) return {Tone::warning, "nothing could be run" + rest};
  return {Tone::good, what + ", every result checked" + rest};
}

std::vector<report::Line> verdict_lines(const BuiltinOutcome& outcome, const Error* error) {
  std::vector<report::Line> lines{main_line(outcome, error)};
  for (const KernelJudgement& judgement : outcome.judgements) {
    if (judgement.below.empty()) {
      lines.push_back({Tone::good, "met: " + judgement.threshold});
    } else {
      lines.push_back({Tone::bad, "MISSED: " + judgement.below});
    }
  }
  return lines;
}

// Tables for people are no wider than a terminal of 80 columns, with a table for each device or
// group; those for programs are one, with everything.

Table results_table(const std::vector<KernelResult>& results) {
  Table table;
  table.columns = {{"kernel", "Kernel"},
                   {"device", "Device"},
                   {"dtype", "Type"},
                   {"size_bytes", "Size", Unit::size},
                   {"median_s", "Median", Unit::duration},
                   {"bytes_per_s", "Rate", Unit::rate},
                   {"flops_per_s", "Operations", Unit::operations},
                   {"share_of_peak", "Of peak", Unit::share},
                   {"status", "Status"},
                   {"reason", "Reason"}};
  for (const KernelResult& result : results) {
    table.rows.push_back({result.kernel, result.device, text_or_absent(result.dtype),
                          size_of(result), result.median_s, result.bytes_per_s, result.flops_per_s,
                          result.share_of_peak, to_string(result.status),
                          text_or_absent(result.reason)});
  }
  return table;
}

std::vector<Table> device_tables(const std::vector<KernelResult>& results) {
  std::vector<Table> tables;
  for (const KernelResult& result : results) {
    if (tables.empty() || tables.back().title != result.device) {
      tables.push_back({result.device,
                        {{"kernel", "Kernel"},
                         {"dtype", "Type"},
                         {"size_bytes", "Size", Unit::size},
                         {"median_s", "Median", Unit::duration},
                         {"rate", "Rate"},
                         {"share_of_peak", "Of peak", Unit::share},
                         {"status", "Status"}},
                        {}});
    }
    tables.back().rows.push_back({result.kernel, text_or_absent(result.dtype), size_of(result),
                                  result.median_s, rate_of(result), result.share_of_peak,
                                  to_string(result.status)});
  }
  if (tables.size() == 1) tables.front().title.clear();  // the verdict names the device
  return tables;
}

Table families_table(const std::vector<KernelFamily>& families) {
  Table table;
  table.columns = {
      {"name", "Name"}, {"group", "Group"}, {"dtypes", "Types"}, {"description", "What it does"}};
  for (const KernelFamily& family : families) {
    table.rows.push_back({family.name, family.group,
                          fmt::format("{}", fmt::join(family.dtypes, " ")), family.description});
  }
  return table;
}

std::vector<Table> group_tables(const std::vector<KernelFamily>& families) {
  constexpr std::size_t most_types = 6;
  std::vector<Table> tables;
  for (const KernelFamily& family : families) {
    auto table = std::find_if(tables.begin(), tables.end(),
                              [&](const Table& one) { return one.title == family.group; });
    if (table == tables.end()) {
      tables.push_back({family.group,
                        {{"name", "Name"}, {"description", "What it does"}, {"dtypes", "Types"}},
                        {}});
      table = tables.end() - 1;
    }
    const std::string types = family.dtypes.size() > most_types
                                  ? fmt::format("all {}", family.dtypes.size())
                                  : fmt::format("{}", fmt::join(family.dtypes, " "));
    table->rows.push_back({family.name, family.description, types});
  }
  return tables;
}

}  // namespace

report::Report kernel_list_report(const Environment& environment,
                                  const std::vector<KernelFamily>& families, bool for_people) {
  report::Report report;
  report::Array kernels;
  for (const KernelFamily& family : families) {
    kernels.push_back(
        report::Object{{"name", family.name},
                       {"group", family.group},
                       {"dtypes", report::Array(family.dtypes.begin(), family.dtypes.end())},
                       {"description", family.description}});
  }
  report.verdict.push_back(
      {Tone::plain, fmt::format("{} kernels; a group's name runs all of it", families.size())});
  report.document = make_document(environment, "run-kernel", "ok");
  report.document.emplace_back("kernels", std::move(kernels));
  report.tables = for_people ? group_tables(families) : std::vector{families_table(families)};
  return report;
}

std::size_t BuiltinOutcome::count(KernelStatus wanted) const {
  return static_cast<std::size_t>(
      std::count_if(results.begin(), results.end(),
                    [&](const KernelResult& result) { return result.status == wanted; }));
}

bool BuiltinOutcome::is_good_enough() const {
  return std::all_of(judgements.begin(), judgements.end(),
                     [](const KernelJudgement& judgement) { return judgement.below.empty(); });
}

std::string describe_result(const KernelResult& result) {
  std::string text = result.id + ": ";
  if (result.status == KernelStatus::mismatch) return text + "WRONG RESULT";
  if (result.status != KernelStatus::ok) {
    return text + fmt::format("{}: {}", to_string(result.status), result.reason);
  }
  const Value rate = rate_of(result);
  text += rate.is_absent() ? format_duration(result.median_s.value_or(0))
                           : report::format_value(rate, Unit::none);
  if (!result.share_of_peak) return text;
  return text + fmt::format(", {} of peak", format_share(*result.share_of_peak));
}

report::Report kernel_results_report(const Environment& environment, const BuiltinOutcome& outcome,
                                     const Error* error, bool for_people) {
  report::Report report;
  report.verdict = verdict_lines(outcome, error);
  report::Array values;
  for (const KernelResult& result : outcome.results) {
    values.push_back(result_value(result));
    add_lines(result, report.notes);
  }
  report.document = make_document(environment, "run-kernel", outcome.status);
  if (error != nullptr) add_error(report.document, *error);
  report.document.emplace_back("results", std::move(values));
  report.document.emplace_back("thresholds", thresholds_value(outcome));
  report.tables =
      for_people ? device_tables(outcome.results) : std::vector{results_table(outcome.results)};
  return report;
}

}  // namespace hiptool::cli
