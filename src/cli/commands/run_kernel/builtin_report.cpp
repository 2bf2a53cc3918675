// SPDX-License-Identifier: MIT
#include "cli/commands/run_kernel/builtin_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.hpp"
#include "base/units.hpp"
#include "cli/document.hpp"

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
      {"share_reason", text_or_absent(result.share_reason)},
      {"requested_sizes_bytes",
       report::Array(result.requested_sizes_bytes.begin(), result.requested_sizes_bytes.end())},
      {"clock_hz", result.clock_hz}};
}

/// What the figures of a result do not say by themselves.
void add_remarks(const KernelResult& result, std::vector<report::Line>& notes) {
  if (!was_run(result)) return;
  for (const std::uint64_t size : result.requested_sizes_bytes) {
    if (size == result.size_bytes) continue;
    notes.push_back(
        {Tone::plain, fmt::format("{}: {} were asked for; this kernel runs {}", result.id,
                                  format_size(size), format_size(result.size_bytes))});
  }
  if (result.is_above_peak) {
    notes.push_back({Tone::plain, fmt::format("no share: {}: {}", result.id, result.share_reason)});
  }
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
                                    {"is_met", judgement.missed.empty()},
                                    {"reason", text_or_absent(missed_text(judgement.missed))}});
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

// "3 of 4 kernel runs right on cpu:0, 1 skipped"
std::string counts_text(const BuiltinOutcome& outcome) {
  const std::size_t skipped = outcome.count(KernelStatus::skipped);
  std::string text =
      fmt::format("{} of {} kernel runs right on {}", outcome.count(KernelStatus::ok),
                  outcome.results.size() - skipped, devices_of(outcome.results));
  if (const std::size_t failed = outcome.count(KernelStatus::failed); failed > 0) {
    text += fmt::format(", {} failed", failed);
  }
  if (skipped > 0) text += fmt::format(", {} skipped", skipped);
  return text;
}

// "1 of 2 thresholds missed: sum.f32.1GiB on nvidia:0: 40 %, below 80 %"
std::string missed_line(const BuiltinOutcome& outcome) {
  std::size_t missed = 0;
  std::string first;
  for (const KernelJudgement& judgement : outcome.judgements) {
    if (judgement.missed.empty()) continue;
    if (missed++ == 0) first = judgement.missed.front().text;
  }
  if (missed == 0) return {};
  return fmt::format("{} of {} missed: {}", missed,
                     base::count_of(outcome.judgements.size(), "threshold"), first);
}

// What is wrong comes first; the counts follow on a line of their own.
std::vector<report::Line> main_lines(const BuiltinOutcome& outcome) {
  if (const std::size_t wrong = outcome.count(KernelStatus::mismatch); wrong > 0) {
    return {{Tone::bad, fmt::format("WRONG RESULTS of {}: {}", wrong, counts_text(outcome))}};
  }
  if (outcome.results.empty()) return {{Tone::bad, "interrupted before a kernel was done"}};
  const std::string counts = counts_text(outcome);
  if (outcome.is_interrupted()) return {{Tone::bad, "interrupted: " + counts}};
  if (outcome.error) {
    return {{Tone::bad, std::string("FAILED: ") + outcome.error->what()}, {Tone::plain, counts}};
  }
  if (const std::string missed = missed_line(outcome); !missed.empty()) {
    return {{Tone::bad, "FAILED: " + missed}, {Tone::plain, counts}};
  }
  return {{Tone::good, counts + ", every result checked"}};
}

std::vector<report::Line> verdict_lines(const BuiltinOutcome& outcome) {
  std::vector<report::Line> lines = main_lines(outcome);
  for (const KernelJudgement& judgement : outcome.judgements) {
    if (judgement.missed.empty()) {
      lines.push_back({Tone::good, "met: " + judgement.threshold});
    } else {
      lines.push_back({Tone::bad, "MISSED: " + missed_text(judgement.missed)});
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
  finish_document(report.document, environment, nullptr);
  report.document.emplace_back("kernels", std::move(kernels));
  report.tables = for_people ? group_tables(families) : std::vector{families_table(families)};
  return report;
}

std::size_t BuiltinOutcome::count(KernelStatus wanted) const {
  return static_cast<std::size_t>(
      std::count_if(results.begin(), results.end(),
                    [&](const KernelResult& result) { return result.status == wanted; }));
}

bool BuiltinOutcome::is_interrupted() const {
  return error && error->code() == ErrorCode::cancelled;
}

std::vector<report::Failure> failures_of(const BuiltinOutcome& outcome) {
  std::vector<report::Failure> failures;
  for (const KernelJudgement& judgement : outcome.judgements) {
    for (const measure::MissedResult& missed : judgement.missed) {
      failures.push_back({judgement.threshold + " " + missed.id, missed.least, missed.measured});
    }
  }
  return failures;
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

report::Report kernel_results_report(report::Object head, const BuiltinOutcome& outcome,
                                     bool for_people) {
  report::Report report;
  report.document = std::move(head);
  report.verdict = verdict_lines(outcome);
  report::Array values;
  for (const KernelResult& result : outcome.results) {
    values.push_back(result_value(result));
    add_lines(result, report.notes);
    add_remarks(result, report.notes);
  }
  report.document.emplace_back("results", std::move(values));
  report.document.emplace_back("thresholds", thresholds_value(outcome));
  report.tables =
      for_people ? device_tables(outcome.results) : std::vector{results_table(outcome.results)};
  return report;
}

}  // namespace hiptool::cli
