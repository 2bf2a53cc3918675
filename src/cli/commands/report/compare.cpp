// SPDX-License-Identifier: MIT
#include "cli/commands/report/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "report/tree.hpp"

namespace hiptool::cli {
namespace {

using base::Verdict;
using report::Array;
using report::Measurement;
using report::Object;
using report::SetupDifference;
using report::signed_share;
using report::Tone;
using report::Unit;
using report::Value;

constexpr std::size_t most_named_cells = 3;

// Of the median rates, where both sides have one.
std::optional<double> rate_change(const report::ComparedMeasurement& cell) {
  const auto& before = cell.before->bytes_per_s;
  const auto& after = cell.after->bytes_per_s;
  if (!before || !after || *before <= 0) return std::nullopt;
  return *after / *before - 1;
}

Value finite(double number) { return std::isfinite(number) ? Value(number) : Value(); }

Object cell_value(const report::ComparedMeasurement& cell) {
  const base::Comparison& comparison = cell.comparison;
  return {{"id", cell.before->id},
          {"verdict", report::to_string(comparison.verdict)},
          {"change", finite(comparison.change)},
          {"low", finite(comparison.interval.low)},
          {"high", finite(comparison.interval.high)},
          {"reason", cell.reason.empty() ? Value() : Value(cell.reason)},
          {"old_median_s", cell.before->median_s},
          {"new_median_s", cell.after->median_s},
          {"old_bytes_per_s", cell.before->bytes_per_s},
          {"new_bytes_per_s", cell.after->bytes_per_s},
          {"rate_change", rate_change(cell)},
          {"old_samples", static_cast<std::uint64_t>(cell.before->samples_s.size())},
          {"new_samples", static_cast<std::uint64_t>(cell.after->samples_s.size())}};
}

std::uint64_t count(const report::ReportComparison& comparison, Verdict verdict) {
  const auto has_verdict = [verdict](const report::ComparedMeasurement& cell) {
    return cell.comparison.verdict == verdict;
  };
  return static_cast<std::uint64_t>(
      std::count_if(comparison.compared.begin(), comparison.compared.end(), has_verdict));
}

// One word for the whole: the worst that a reader must act on; absent where nothing was compared.
std::optional<Verdict> overall(const report::ReportComparison& comparison) {
  if (comparison.compared.empty()) return std::nullopt;
  for (const Verdict verdict : {Verdict::slower, Verdict::ambiguous, Verdict::faster}) {
    if (count(comparison, verdict) > 0) return verdict;
  }
  return Verdict::same;
}

Array texts(const std::vector<std::string>& list) { return Array(list.begin(), list.end()); }

Array differences_value(const report::ReportComparison& comparison) {
  Array list;
  for (const SetupDifference& difference : comparison.differences) {
    list.push_back(
        Object{{"kind", report::to_string(difference.kind)},
               {"what", difference.what},
               {"device", difference.device.empty() ? Value() : Value(difference.device)},
               {"old", difference.old_value},
               {"new", difference.new_value}});
  }
  return list;
}

Object side_value(const report::ReportFile& file) {
  return {{"path", file.path},
          {"kind", file.kind.name},
          {"status", file.status},
          {"host", report::member(report::member(file.head, "host"), "name")},
          {"started_at", report::member(file.head, "started_at")}};
}

// Rates where both sides have one, else times.
std::pair<Value, Value> shown_pair(const report::ComparedMeasurement& cell) {
  const bool has_rates = cell.before->bytes_per_s && cell.after->bytes_per_s;
  const auto shown = [has_rates](const Measurement& one) {
    const Value value = has_rates ? Value(one.bytes_per_s) : Value(one.median_s);
    return Value(report::format_value(value, has_rates ? Unit::rate : Unit::duration));
  };
  return {shown(*cell.before), shown(*cell.after)};
}

// The change of what shown_pair shows.
std::string change_text(const report::ComparedMeasurement& cell) {
  const auto change = rate_change(cell);
  const std::string text = signed_share(change.value_or(cell.comparison.change));
  return text.empty() ? text : (change ? "rate " : "time ") + text;
}

report::Table people_table(const report::ReportComparison& comparison) {
  report::Table table{"",
                      {{"id", "Cell", Unit::none},
                       {"verdict", "Verdict", Unit::none},
                       {"old", "Old", Unit::none},
                       {"new", "New", Unit::none},
                       {"change", "Change", Unit::none}},
                      {}};
  for (const report::ComparedMeasurement& cell : comparison.compared) {
    const auto [before, after] = shown_pair(cell);
    table.rows.push_back({cell.before->id, report::to_string(cell.comparison.verdict), before,
                          after, change_text(cell)});
  }
  return table;
}

report::Table full_table(const report::ReportComparison& comparison) {
  report::Table table;
  for (const char* key :
       {"id", "verdict", "change", "low", "high", "reason", "old_median_s", "new_median_s",
        "old_bytes_per_s", "new_bytes_per_s", "rate_change", "old_samples", "new_samples"}) {
    table.columns.push_back({key, key, Unit::none});
  }
  for (const report::ComparedMeasurement& cell : comparison.compared) {
    auto& row = table.rows.emplace_back();
    for (auto& [key, value] : cell_value(cell)) row.push_back(std::move(value));
  }
  return table;
}

std::vector<report::Line> notes(const report::ReportComparison& comparison) {
  std::vector<report::Line> lines;
  for (const report::ComparedMeasurement& cell : comparison.compared) {
    if (cell.reason.empty()) continue;
    lines.push_back({Tone::plain, fmt::format("{}: {}", cell.before->id, cell.reason)});
  }
  for (const SetupDifference& one : comparison.differences) {
    lines.push_back(
        {Tone::warning, fmt::format("{}: {} was {}, is {}", report::to_string(one.kind), one.what,
                                    report::format_value(one.old_value, Unit::none),
                                    report::format_value(one.new_value, Unit::none))});
  }
  for (const std::string& id : comparison.only_old) {
    lines.push_back({Tone::plain, id + " is only in the old document"});
  }
  for (const std::string& id : comparison.only_new) {
    lines.push_back({Tone::plain, id + " is only in the new document"});
  }
  return lines;
}

std::string counts_text(const report::ReportComparison& comparison) {
  std::string counts;
  for (const auto& [one, word] :
       {std::pair(Verdict::slower, "slower"), std::pair(Verdict::ambiguous, "ambiguous"),
        std::pair(Verdict::faster, "faster"), std::pair(Verdict::same, "the same")}) {
    const std::uint64_t number = count(comparison, one);
    if (number > 0) counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", number, word);
  }
  return counts;
}

// "2 only in the old document (a, b)"; empty for none.
std::string left_out_text(const std::vector<std::string>& ids, const char* side) {
  if (ids.empty()) return {};
  const std::size_t shown = std::min(ids.size(), most_named_cells);
  const std::vector<std::string> named(ids.begin(),
                                       ids.begin() + static_cast<std::ptrdiff_t>(shown));
  return fmt::format("{} only in the {} document ({}{})", ids.size(), side, fmt::join(named, ", "),
                     shown < ids.size() ? ", ..." : "");
}

std::vector<report::Line> verdict_lines(const report::ReportComparison& comparison,
                                        const report::ReportFile& before,
                                        const report::ReportFile& after) {
  const std::size_t cells = comparison.compared.size();
  if (cells == 0) {
    return {
        {Tone::bad,
         fmt::format("nothing in common: {} ({}, status {}) and {} ({}, status {}) share no "
                     "measurement; measure both with the same options and devices",
                     before.path, base::count_of(before.measured.size(), "result"), before.status,
                     after.path, base::count_of(after.measured.size(), "result"), after.status)}};
  }
  const Verdict verdict = *overall(comparison);
  const Tone tone = verdict == Verdict::slower      ? Tone::bad
                    : verdict == Verdict::ambiguous ? Tone::warning
                                                    : Tone::good;
  std::vector<report::Line> lines{
      {tone, fmt::format("{}: of {} {} {}", report::to_string(verdict), cells,
                         cells == 1 ? "cell" : "cells", counts_text(comparison))}};
  for (const auto& [side, name] : {std::pair(&before, "old"), std::pair(&after, "new")}) {
    if (side->verdict.passed) continue;
    lines.push_back({Tone::warning, fmt::format("the {} run did not pass: {}", name,
                                                report::exit_text(side->verdict))});
  }
  const std::string only_old = left_out_text(comparison.only_old, "old");
  const std::string only_new = left_out_text(comparison.only_new, "new");
  if (only_old.empty() && only_new.empty()) return lines;
  lines.push_back(
      {Tone::warning, fmt::format("not compared: {}{}{}", only_old,
                                  only_old.empty() || only_new.empty() ? "" : ", ", only_new)});
  return lines;
}

void add_fields(Object& document, const report::ReportComparison& comparison,
                const report::ReportFile& before, const report::ReportFile& after) {
  Array cells;
  for (const report::ComparedMeasurement& cell : comparison.compared)
    cells.push_back(cell_value(cell));
  document.emplace_back("action", "compare");
  const auto verdict = overall(comparison);
  document.emplace_back("verdict", verdict ? Value(report::to_string(*verdict)) : Value());
  document.emplace_back("effect", comparison.effect);
  document.emplace_back("old", side_value(before));
  document.emplace_back("new", side_value(after));
  document.emplace_back("counts", Object{{"same", count(comparison, Verdict::same)},
                                         {"faster", count(comparison, Verdict::faster)},
                                         {"slower", count(comparison, Verdict::slower)},
                                         {"ambiguous", count(comparison, Verdict::ambiguous)}});
  document.emplace_back("cells", std::move(cells));
  document.emplace_back("only_old", texts(comparison.only_old));
  document.emplace_back("only_new", texts(comparison.only_new));
  document.emplace_back("context_differences", differences_value(comparison));
}

}  // namespace

std::vector<report::Failure> comparison_failures(const report::ReportComparison& comparison) {
  if (comparison.compared.empty()) return {{"measurements in both documents", "at least 1", 0}};
  std::vector<report::Failure> list;
  for (const report::ComparedMeasurement& cell : comparison.compared) {
    if (has_failed(*cell.after)) list.push_back({cell.after->id, "ok", cell.after->status});
    if (cell.comparison.verdict != Verdict::slower) continue;
    const auto [before, after] = shown_pair(cell);
    list.push_back({cell.before->id,
                    fmt::format("{} within {}", report::text_of(before),
                                report::format_value(comparison.effect, Unit::share)),
                    fmt::format("{}, {}", report::text_of(after), change_text(cell))});
  }
  return list;
}

ReportPair make_compare_reports(Object document, const report::ReportComparison& comparison,
                                const report::ReportFile& before, const report::ReportFile& after) {
  add_fields(document, comparison, before, after);
  ReportPair reports;
  reports.for_programs.document = std::move(document);
  reports.for_programs.verdict = verdict_lines(comparison, before, after);
  reports.for_programs.notes = notes(comparison);
  reports.for_people = reports.for_programs;
  reports.for_programs.tables = {full_table(comparison)};
  reports.for_people.tables = {people_table(comparison)};
  return reports;
}

}  // namespace hiptool::cli
