// SPDX-License-Identifier: MIT
#include "results/run_kernel/library.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/contains.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "report/document.hpp"
#include "report/remarks.hpp"
#include "results/run_kernel/report.hpp"
#include "results/wrong.hpp"

namespace hiptool::results {
namespace {

using measure::LibraryResult;
using report::Status;
using report::Table;
using report::Tone;
using report::Unit;
using report::Value;

bool was_library_judged(const LibraryResult& result) { return result.checked > 0; }

Value library_error(const LibraryResult& result) {
  return was_library_judged(result) && !result.wrong ? Value(result.max_error) : Value();
}

/// Of the peak where one is published, else of the fastest of the same problem.
Value library_share(const LibraryResult& result) {
  if (result.share_of_limit) return format_share(*result.share_of_limit) + " of peak";
  if (result.share_of_fastest) return format_share(*result.share_of_fastest) + " of fastest";
  return {};
}

/// "f32 tn batch8".
std::string library_type(const LibraryResult& result) {
  std::string text = result.dtype;
  for (const std::string& word : measure::unusual_words(result.problem)) text += " " + word;
  return text;
}

/// One for each device, problem and the report that it comes from.
std::vector<Table> library_tables(const std::vector<LibraryResult>& results) {
  std::vector<Table> tables;
  for (const LibraryResult& result : results) {
    const std::string title =
        fmt::format("{} {} on {}", result.shape, library_type(result), result.destination);
    if (tables.empty() || tables.back().title != title) {
      tables.push_back({title,
                        {{"library", "Implementation"},
                         {"flops_per_s", "Rate", Unit::operations},
                         {"share", "Share"},
                         {"max_error", "Error over bound"},
                         {"status", "Verdict"}},
                        {}});
    }
    const Value error = library_error(result);
    tables.back().rows.push_back(
        {result.library, result.flops_per_s, library_share(result),
         error.is_absent() ? Value() : Value(fmt::format("{:.3g}", result.max_error)),
         verdict_word(result.status)});
  }
  return tables;
}

std::string wrong_library_text(const LibraryResult& result) {
  std::string text = fmt::format("wrong: {} with {}", result.id, result.data);
  if (!result.reason.empty()) text += fmt::format(" ({})", result.reason);
  if (!result.wrong) return text;
  const report::WrongData& wrong = *result.wrong;
  return text + fmt::format(": {}; {}{} wrong, first {}: {}; {}", result.where,
                            result.counts_all ? "" : "at least ",
                            base::count_of(wrong.count, "element"),
                            place_word(result.problem, wrong.first_index.value_or(0)),
                            report::expected_text(wrong.expected, wrong.got),
                            report::second_read_text(wrong));
}

const char* judged_parts(const LibraryResult& result) {
  return matmul_of(result.problem) != nullptr ? "rows, columns" : "channels, pixels";
}

void add_remarks(const LibraryResult& result, std::vector<report::Remark>& remarks) {
  const auto add = [&](std::string text, Tone tone = Tone::plain, std::string lead = {}) {
    remarks.push_back(report::remark_of(result, tone, std::move(lead), std::move(text)));
  };
  const bool is_failed = result.status == Status::failed;
  if (is_failed || result.status == Status::skipped) {
    add(result.reason, is_failed ? Tone::bad : Tone::plain,
        fmt::format("{}: ", to_string(result.status)));
  }
  report::add_share_remark(result, remarks);
  if (result.status == Status::ok && !result.has_same_bits) {
    add("two calls give different bits, both within the bound");
  }
  if (!was_library_judged(result) || result.judged_share >= 1) return;
  if (measure::is_large_product(result.problem)) {
    add(
        fmt::format("of random numbers {} of the elements were judged (the ends, and "
                    "where indices need more bits), of whole numbers all",
                    format_share(result.judged_share)));
    return;
  }
  add(
      fmt::format("of random numbers {} of the elements were judged ({} and "
                  "edges), of whole numbers all: this processor sums {:.3g} terms a second to "
                  "judge by, all would take {}",
                  format_share(result.judged_share), judged_parts(result), result.terms_per_s,
                  format_duration(flops_of(result.problem) / 2 / result.terms_per_s)));
}

void add_result_notes(const std::vector<LibraryResult>& results, std::vector<report::Line>& notes) {
  std::vector<report::Remark> remarks;
  for (const LibraryResult& result : results) {
    if (result.status == Status::mismatch) notes.push_back({Tone::bad, wrong_library_text(result)});
    add_remarks(result, remarks);
  }
  for (report::Line& line : lines_of(remarks)) notes.push_back(std::move(line));
}

/// What the shapes of a run are, once for each.
void add_shape_notes(const std::vector<LibraryResult>& results, std::vector<report::Line>& notes) {
  std::vector<std::string> lines;
  for (const LibraryResult& result : results) {
    if (result.trap.empty()) continue;
    std::string line = fmt::format("{} {}: {}", result.shape, library_type(result), result.trap);
    if (!result.scaled.empty()) line += fmt::format(" (made smaller: {})", result.scaled);
    base::add_once(lines, line);
  }
  for (std::string& line : lines) notes.push_back({Tone::plain, std::move(line)});
}

void add_library_notes(const std::vector<LibraryResult>& results,
                       std::vector<report::Line>& notes) {
  std::vector<std::string> lines;
  for (const LibraryResult& result : results) {
    if (result.library_version.empty() && result.library_path.empty()) continue;
    base::add_once(lines,
                   fmt::format("{}: version {}, {}", result.library,
                               result.library_version.empty() ? "unknown" : result.library_version,
                               result.library_path));
  }
  for (std::string& line : lines) notes.push_back({Tone::plain, std::move(line)});
}

std::string library_counts(const LibraryOutcome& outcome) {
  const std::size_t skipped = outcome.count(Status::skipped);
  std::string text = fmt::format(
      "{} of {} right on {}", outcome.count(Status::ok),
      base::count_of(outcome.results.size() - skipped, std::string(noun_of(outcome.kind))),
      devices_of(outcome.results));
  if (const std::size_t failed = outcome.count(Status::failed); failed > 0) {
    text += fmt::format(", {} failed", failed);
  }
  if (skipped > 0) text += fmt::format(", {} skipped", skipped);
  return text;
}

/// "every element judged" may be said only where it is so.
std::string library_coverage(const std::vector<LibraryResult>& results) {
  double least = 1;
  for (const LibraryResult& result : results) {
    if (was_library_judged(result)) least = std::min(least, result.judged_share);
  }
  return least < 1 ? fmt::format("whole numbers judged completely, {} or more of random ones",
                                 format_share(least))
                   : "every element judged";
}

std::vector<report::Line> library_lines(const LibraryOutcome& outcome) {
  const std::string seed = fmt::format("; seed {}", outcome.seed);
  const std::size_t wrong = outcome.count(Status::mismatch);
  std::string counts = outcome.results.empty() ? std::string() : library_counts(outcome);
  if (wrong > 0) counts += seed;
  return report::parts_verdict({.wrong = wrong,
                                .wrong_on = devices_with(outcome.results, Status::mismatch),
                                .error = outcome.error ? &*outcome.error : nullptr,
                                .missed = report::missed_text(outcome.thresholds),
                                .counts = std::move(counts),
                                .passed = ", " + library_coverage(outcome.results) + seed,
                                .first = "a measurement"});
}

}  // namespace

std::string describe_result(const LibraryResult& result) {
  std::string text = result.id + ": ";
  if (result.status == Status::mismatch) return text + "WRONG RESULT";
  if (result.status != Status::ok) {
    return text + fmt::format("{}: {}", to_string(result.status), result.reason);
  }
  if (result.flops_per_s) {
    text += report::format_value(*result.flops_per_s, Unit::operations) + ", ";
  }
  return text + "right";
}

std::vector<report::Failure> failures_of(const LibraryOutcome& outcome) {
  std::vector<report::Failure> failures;
  add_failures_of_wrong(outcome.results, failures);
  for (report::Failure& one : failures_of(outcome.thresholds)) failures.push_back(std::move(one));
  return failures;
}

report::Report library_report(report::Run run, const LibraryOutcome& outcome) {
  report::Report report = report::start_report(std::move(run));
  std::vector<report::Measurement> measurements;
  for (const LibraryResult& result : outcome.results) {
    measurements.push_back(measurement_of(result));
  }
  add_result_notes(outcome.results, report.notes);
  set_measurements(report, std::move(measurements));
  set_thresholds(report, outcome.thresholds);
  report.verdict = library_lines(outcome);
  add_action_lines(report);
  for (const report::ThresholdResult& one : outcome.thresholds) {
    report.verdict.push_back(one.is_met ? report::Line{Tone::good, "met: " + one.threshold}
                                        : report::Line{Tone::bad, "MISSED: " + one.reason()});
  }
  add_shape_notes(outcome.results, report.notes);
  add_library_notes(outcome.results, report.notes);
  report.document.emplace_back("seed", outcome.seed);
  report.tables = library_tables(outcome.results);
  return report;
}

}  // namespace hiptool::results
