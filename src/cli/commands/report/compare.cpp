// SPDX-License-Identifier: MIT
#include "cli/commands/report/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/document.hpp"
#include "cli/exit_code.hpp"
#include "hiptool/error.hpp"
#include "report/tree.hpp"

namespace hiptool::cli {
namespace {

using base::Verdict;
using report::Array;
using report::ContextDifference;
using report::Measurement;
using report::Object;
using report::signed_share;
using report::Tone;
using report::Unit;
using report::Value;

Error compare_error(ErrorCode code, std::string message, std::string hint) {
  return Error(code, "report compare", std::move(message), std::move(hint));
}

const Measurement* find(const std::vector<Measurement>& list, const std::string& id) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const Measurement& one) { return one.id == id; });
  return found == list.end() ? nullptr : &*found;
}

bool concerns(const ContextDifference& difference, const Measurement& measured) {
  if (difference.kind == ContextDifference::Kind::software) return false;
  const auto& devices = measured.devices;
  return difference.device.empty() ||
         std::find(devices.begin(), devices.end(), difference.device) != devices.end();
}

std::string difference_reason(const std::vector<ContextDifference>& differences,
                              const Measurement& measured) {
  std::vector<std::string> kinds;
  for (const ContextDifference& difference : differences) {
    if (!concerns(difference, measured)) continue;
    const std::string kind(report::to_string(difference.kind));
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  }
  return kinds.empty() ? "" : fmt::format("{} differ in the context", fmt::join(kinds, ", "));
}

// What makes a verdict impossible before the samples are looked at.
std::string obstacle(const ComparedCell& cell, const std::vector<ContextDifference>& differences) {
  for (const auto& [side, name] : {std::pair(cell.before, "old"), std::pair(cell.after, "new")}) {
    if (side->status != "ok") {
      const std::string why = side->reason.empty() ? "" : ": " + side->reason;
      return fmt::format("{} is {}{}", name, side->status.empty() ? "without status" : side->status,
                         why);
    }
    if (side->has_bad_sample) return fmt::format("{} has a sample that is no time", name);
    if (side->samples_s.size() < base::least_compared_samples) {
      return fmt::format("{} has {} samples, fewer than {}", name, side->samples_s.size(),
                         base::least_compared_samples);
    }
  }
  return difference_reason(differences, *cell.before);
}

ComparedCell compare_cell(const Measurement& before, const Measurement& after,
                          const ReportComparison& all) {
  ComparedCell cell{&before, &after, {}, {}};
  cell.comparison = base::compare_times(before.samples_s, after.samples_s, all.effect);
  cell.reason = obstacle(cell, all.differences);
  if (!cell.reason.empty()) {
    cell.comparison.verdict = Verdict::ambiguous;
  } else if (cell.comparison.verdict == Verdict::ambiguous) {
    const auto [low, high] = cell.comparison.interval;
    cell.reason =
        fmt::format("the change is {} to {}, which straddles the effect of {}", signed_share(low),
                    signed_share(high), report::format_value(all.effect, Unit::share));
  }
  return cell;
}

void check_comparable(const ReportFile& before, const ReportFile& after) {
  if (before.kind.name != after.kind.name) {
    throw compare_error(ErrorCode::invalid_argument,
                        fmt::format("{} is of {}, {} of {}", before.path, before.kind.name,
                                    after.path, after.kind.name),
                        "compare two documents of the same command");
  }
  if (before.kind.name != "bench-copy" && before.kind.name != "run-kernel") {
    throw compare_error(ErrorCode::unsupported,
                        fmt::format("documents of {} hold no samples to compare", before.kind.name),
                        "compare documents of bench-copy or run-kernel");
  }
}

Value finite(double number) { return std::isfinite(number) ? Value(number) : Value(); }

Object cell_value(const ComparedCell& cell) {
  const base::Comparison& comparison = cell.comparison;
  return {{"id", cell.before->id},
          {"verdict", to_string(comparison.verdict)},
          {"change", finite(comparison.change)},
          {"low", finite(comparison.interval.low)},
          {"high", finite(comparison.interval.high)},
          {"reason", cell.reason.empty() ? Value() : Value(cell.reason)},
          {"old_median_s", cell.before->median_s},
          {"new_median_s", cell.after->median_s},
          {"old_bytes_per_s", cell.before->bytes_per_s},
          {"new_bytes_per_s", cell.after->bytes_per_s},
          {"old_samples", static_cast<std::uint64_t>(cell.before->samples_s.size())},
          {"new_samples", static_cast<std::uint64_t>(cell.after->samples_s.size())}};
}

std::uint64_t count(const ReportComparison& comparison, Verdict verdict) {
  const auto has_verdict = [verdict](const ComparedCell& cell) {
    return cell.comparison.verdict == verdict;
  };
  return static_cast<std::uint64_t>(
      std::count_if(comparison.cells.begin(), comparison.cells.end(), has_verdict));
}

// One word for the whole: the worst that a reader must act on.
Verdict overall(const ReportComparison& comparison) {
  for (const Verdict verdict : {Verdict::slower, Verdict::ambiguous, Verdict::faster}) {
    if (count(comparison, verdict) > 0) return verdict;
  }
  return Verdict::same;
}

Array texts(const std::vector<std::string>& list) { return Array(list.begin(), list.end()); }

Array differences_value(const ReportComparison& comparison) {
  Array list;
  for (const ContextDifference& difference : comparison.differences) {
    list.push_back(
        Object{{"kind", report::to_string(difference.kind)},
               {"what", difference.what},
               {"device", difference.device.empty() ? Value() : Value(difference.device)},
               {"old", difference.old_value},
               {"new", difference.new_value}});
  }
  return list;
}

Object side_value(const ReportFile& file) {
  return {{"path", file.path},
          {"kind", file.kind.name},
          {"status", file.status},
          {"host", report::member(report::member(file.document, "host"), "name")},
          {"started_at", report::member(file.document, "started_at")}};
}

// Rates where both sides have one, else times.
std::pair<Value, Value> shown_pair(const ComparedCell& cell) {
  const bool has_rates = cell.before->bytes_per_s && cell.after->bytes_per_s;
  const auto shown = [has_rates](const Measurement& one) {
    const Value value = has_rates ? Value(one.bytes_per_s) : Value(one.median_s);
    return Value(report::format_value(value, has_rates ? Unit::rate : Unit::duration));
  };
  return {shown(*cell.before), shown(*cell.after)};
}

report::Table people_table(const ReportComparison& comparison) {
  report::Table table{"",
                      {{"id", "Cell", Unit::none},
                       {"verdict", "Verdict", Unit::none},
                       {"old", "Old", Unit::none},
                       {"new", "New", Unit::none},
                       {"change", "Time", Unit::none}},
                      {}};
  for (const ComparedCell& cell : comparison.cells) {
    const auto [before, after] = shown_pair(cell);
    table.rows.push_back({cell.before->id, to_string(cell.comparison.verdict), before, after,
                          signed_share(cell.comparison.change)});
  }
  return table;
}

report::Table full_table(const ReportComparison& comparison) {
  report::Table table;
  for (const ComparedCell& cell : comparison.cells) {
    table.rows.emplace_back();
    table.columns.clear();
    for (auto& [key, value] : cell_value(cell)) {
      table.columns.push_back({key, key, Unit::none});
      table.rows.back().push_back(std::move(value));
    }
  }
  return table;
}

std::vector<report::Line> notes(const ReportComparison& comparison) {
  std::vector<report::Line> lines;
  for (const ComparedCell& cell : comparison.cells) {
    if (cell.reason.empty()) continue;
    lines.push_back({Tone::plain, fmt::format("{}: {}", cell.before->id, cell.reason)});
  }
  for (const ContextDifference& one : comparison.differences) {
    lines.push_back(
        {Tone::warning, fmt::format("{}: {} was {}, is {}", report::to_string(one.kind), one.what,
                                    report::format_value(one.old_value, Unit::none),
                                    report::format_value(one.new_value, Unit::none))});
  }
  for (const std::string& id : comparison.only_old) {
    lines.push_back({Tone::warning, id + " is only in the old document"});
  }
  for (const std::string& id : comparison.only_new) {
    lines.push_back({Tone::plain, id + " is only in the new document"});
  }
  return lines;
}

report::Line verdict_line(const ReportComparison& comparison) {
  const Verdict verdict = overall(comparison);
  const Tone tone = verdict == Verdict::slower      ? Tone::bad
                    : verdict == Verdict::ambiguous ? Tone::warning
                                                    : Tone::good;
  std::string counts;
  for (const auto& [one, word] :
       {std::pair(Verdict::slower, "slower"), std::pair(Verdict::ambiguous, "ambiguous"),
        std::pair(Verdict::faster, "faster"), std::pair(Verdict::same, "the same")}) {
    const std::uint64_t number = count(comparison, one);
    if (number > 0) counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", number, word);
  }
  const std::size_t cells = comparison.cells.size();
  return {tone, fmt::format("{}: of {} {} {}", to_string(verdict), cells,
                            cells == 1 ? "cell" : "cells", counts)};
}

void add_fields(Object& document, const ReportComparison& comparison, const ReportFile& before,
                const ReportFile& after) {
  Array cells;
  for (const ComparedCell& cell : comparison.cells) cells.push_back(cell_value(cell));
  document.emplace_back("action", "compare");
  document.emplace_back("verdict", to_string(overall(comparison)));
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

std::string_view to_string(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::same: return "SAME";
    case Verdict::faster: return "FASTER";
    case Verdict::slower: return "SLOWER";
    case Verdict::ambiguous: break;
  }
  return "AMBIGUOUS";
}

ReportComparison compare_reports(const ReportFile& before, const ReportFile& after, double effect) {
  check_comparable(before, after);
  ReportComparison result;
  result.effect = effect;
  result.differences = report::context_differences(before.document, after.document);
  for (const Measurement& old_cell : before.measured) {
    const Measurement* new_cell = find(after.measured, old_cell.id);
    if (new_cell == nullptr) {
      result.only_old.push_back(old_cell.id);
    } else {
      result.cells.push_back(compare_cell(old_cell, *new_cell, result));
    }
  }
  for (const Measurement& new_cell : after.measured) {
    if (find(before.measured, new_cell.id) == nullptr) result.only_new.push_back(new_cell.id);
  }
  if (!result.cells.empty()) return result;
  throw compare_error(
      ErrorCode::invalid_argument,
      fmt::format(
          "{} ({} results, status {}) and {} ({} results, status {}) have no cell in common",
          before.path, before.measured.size(), before.status, after.path, after.measured.size(),
          after.status),
      "measure both with the same options and devices");
}

int run_report_compare(const ReportOptions& options, Context& context) {
  const ReportFile before = read_report_file(options.files[0]);
  const ReportFile after = read_report_file(options.files[1]);
  const double effect = options.effect > 0 ? options.effect : base::least_effect;
  const ReportComparison comparison = compare_reports(before, after, effect);
  report::Report report;
  report.document = make_document(context.environment, "report", "ok");
  add_fields(report.document, comparison, before, after);
  report.verdict = {verdict_line(comparison)};
  report.notes = notes(comparison);
  report::Report for_people = report;
  report.tables = {full_table(comparison)};
  for_people.tables = {people_table(comparison)};
  context.output.write(for_people, report);
  return overall(comparison) == Verdict::slower ? exit_check_failed : exit_done;
}

}  // namespace hiptool::cli
