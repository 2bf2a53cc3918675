// SPDX-License-Identifier: MIT
#include "cli/commands/run_kernel_builtin_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/document.hpp"

namespace hiptool::cli {
namespace {

using measure::KernelResult;
using measure::KernelStatus;
using report::Value;

Value text_or_null(const std::string& text) { return text.empty() ? Value() : Value(text); }

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
  const bool was_run = !result.samples_s.empty() || result.checked > 0;
  return report::Object{
      {"kernel", result.kernel},
      {"device", result.device},
      {"dtype", text_or_null(result.dtype)},
      {"elements", was_run ? Value(result.elements) : Value()},
      {"size_bytes", was_run ? Value(result.size_bytes) : Value()},
      {"status", to_string(result.status)},
      {"reason", text_or_null(result.reason)},
      {"checked", was_run ? Value(result.checked) : Value()},
      {"max_error", was_run ? Value(result.max_error) : Value()},
      {"tolerance", was_run ? Value(result.tolerance) : Value()},
      {"wrong", wrong_value(result.wrong)},
      {"samples_s", report::Array(result.samples_s.begin(), result.samples_s.end())},
      {"median_s", result.median_s},
      {"bytes_per_s", result.bytes_per_s},
      {"flops_per_s", result.flops_per_s},
      {"share_of_peak", result.share_of_peak},
      {"peak_source", text_or_null(result.peak_source)},
      {"clock_hz", result.clock_hz}};
}

std::size_t count_of(const std::vector<KernelResult>& results, KernelStatus status) {
  return static_cast<std::size_t>(
      std::count_if(results.begin(), results.end(),
                    [&](const KernelResult& result) { return result.status == status; }));
}

void add_lines(const KernelResult& result, std::vector<report::Line>& notes) {
  const std::string subject =
      fmt::format("{} {} on {}", result.kernel, result.dtype, result.device);
  if (result.wrong) {
    const measure::WrongValues& wrong = *result.wrong;
    const std::string place =
        wrong.first_bad_index ? fmt::format(", first at {}", *wrong.first_bad_index) : "";
    notes.push_back(
        {report::Tone::bad,
         fmt::format("wrong: {}: {} of {} values{}: expected {}, got {}, xor 0x{:x}; reading again "
                     "gives {}",
                     subject, wrong.count, result.checked, place, wrong.expected, wrong.got,
                     wrong.xor_bits, wrong.reread_agrees ? "the same" : "something else")});
  }
  if (!result.reason.empty()) {
    const bool is_failed = result.status == KernelStatus::failed;
    notes.push_back({is_failed ? report::Tone::bad : report::Tone::plain,
                     fmt::format("{}: {}: {}", to_string(result.status), subject, result.reason)});
  }
}

report::Table results_table(const std::vector<KernelResult>& results) {
  report::Table table;
  table.columns = {{"kernel", "Kernel"},
                   {"dtype", "Type"},
                   {"device", "Device"},
                   {"size_bytes", "Size", report::Unit::size},
                   {"median_s", "Median", report::Unit::duration},
                   {"bytes_per_s", "Rate", report::Unit::rate},
                   {"flops_per_s", "Operations/s", report::Unit::count},
                   {"share_of_peak", "Of peak", report::Unit::share},
                   {"status", "Status"}};
  for (const KernelResult& result : results) {
    // Operations are whole numbers, which are easier to read.
    const Value operations =
        result.flops_per_s ? Value(static_cast<std::uint64_t>(*result.flops_per_s)) : Value();
    table.rows.push_back({result.kernel, text_or_null(result.dtype), result.device,
                          result.size_bytes, result.median_s, result.bytes_per_s, operations,
                          result.share_of_peak, to_string(result.status)});
  }
  return table;
}

}  // namespace

report::Report kernel_list_report(const Environment& environment,
                                  const std::vector<measure::KernelFamily>& families) {
  report::Report report;
  report::Table table;
  table.columns = {
      {"name", "Name"}, {"group", "Group"}, {"dtypes", "Types"}, {"description", "What it does"}};
  report::Array kernels;
  for (const measure::KernelFamily& family : families) {
    report::Array dtypes(family.dtypes.begin(), family.dtypes.end());
    kernels.push_back(report::Object{{"name", family.name},
                                     {"group", family.group},
                                     {"dtypes", std::move(dtypes)},
                                     {"description", family.description}});
    table.rows.push_back({family.name, family.group,
                          fmt::format("{}", fmt::join(family.dtypes, " ")), family.description});
  }
  report.verdict.push_back(
      {report::Tone::plain,
       fmt::format("{} kernels; a group's name runs all of it", families.size())});
  report.document = make_document(environment, "run-kernel", "ok");
  report.document.emplace_back("kernels", std::move(kernels));
  report.tables = {std::move(table)};
  return report;
}

report::Report kernel_results_report(const Environment& environment,
                                     const std::vector<KernelResult>& results,
                                     const std::vector<std::string>& missed, bool is_interrupted) {
  const std::size_t wrong = count_of(results, KernelStatus::mismatch);
  const std::size_t failed = count_of(results, KernelStatus::failed);
  const std::size_t skipped = count_of(results, KernelStatus::skipped);
  const std::size_t right = count_of(results, KernelStatus::ok);
  report::Report report;
  const char* const status = wrong > 0                       ? "mismatch"
                             : is_interrupted                ? "interrupted"
                             : failed > 0 || !missed.empty() ? "failed"
                                                             : "ok";
  report.verdict.push_back(
      {wrong + failed + missed.size() > 0 ? report::Tone::bad : report::Tone::good,
       fmt::format("{} runs right, {} wrong, {} failed, {} skipped{}", right, wrong, failed,
                   skipped, is_interrupted ? "; interrupted" : "")});
  for (const std::string& below : missed) {
    report.verdict.push_back({report::Tone::bad, "below the threshold: " + below});
  }
  report::Array values;
  for (const KernelResult& result : results) {
    values.push_back(result_value(result));
    add_lines(result, report.notes);
  }
  report.document = make_document(environment, "run-kernel", status);
  report.document.emplace_back("results", std::move(values));
  report.tables = {results_table(results)};
  return report;
}

}  // namespace hiptool::cli
