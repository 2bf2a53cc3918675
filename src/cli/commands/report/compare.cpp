// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.hpp"
#include "cli/commands/report/report.hpp"
#include "cli/document.hpp"
#include "report/document.hpp"
#include "report/remarks.hpp"

namespace hiptool::cli {
namespace {

using namespace report;
using base::Verdict;

constexpr std::size_t most_named = 3;

Array texts(const std::vector<std::string>& list) { return Array(list.begin(), list.end()); }

Array differences_value(const RunComparison& comparison) {
  return array_of(comparison.differences, [](const SetupDifference& difference) {
    return Object{{"kind", to_string(difference.kind)},
                  {"what", difference.what},
                  {"device", report::text_or_absent(difference.device)},
                  {"old", difference.old_value},
                  {"new", difference.new_value}};
  });
}

Object side_value(const RunFile& file) {
  return {{"path", file.path},
          {"kind", file.run.command},
          {"status", file.run.status},
          {"host", report::text_or_absent(file.run.host.name)},
          {"started_at", report::text_or_absent(file.run.started_at)},
          {"devices", devices_value({file.devices.begin(), file.devices.end()})}};
}

// How many changed by more than the effect, which of such short calls means nothing.
std::size_t count_noisy(const RunComparison& comparison) {
  const auto& list = comparison.comparisons;
  const double effect = comparison.effect.value_or(1);  // of auto no call is taken for short
  return static_cast<std::size_t>(
      std::count_if(list.begin(), list.end(), [effect](const Comparison& one) {
        return one.times.verdict == Verdict::same && !one.decidable_effect &&
               (one.times.interval.low < -effect || one.times.interval.high > effect);
      }));
}

std::vector<Line> notes(const RunComparison& comparison) {
  std::vector<Line> lines;
  if (const std::size_t noisy = count_noisy(comparison); noisy > 0) {
    lines.push_back({Tone::plain,
                     fmt::format("{} under 100 us counted as the same: between runs of one machine "
                                 "the rates of such calls differ by up to half",
                                 base::count_of(noisy, "call"))});
  }
  std::vector<Remark> remarks;
  for (const Comparison& one : comparison.comparisons) {
    if (!one.reason.empty()) remarks.push_back({Tone::plain, "", one.id, {}, one.reason});
  }
  for (const SetupDifference& one : comparison.differences) {
    const auto [before, now] = distinct_texts(one.old_value, one.new_value, Unit::none);
    remarks.push_back({Tone::warning,
                       fmt::format("{}: ", to_string(one.kind)),
                       one.what,
                       {one.device},
                       fmt::format("was {}, is {}", before, now)});
  }
  for (const auto& [ids, where] : {std::pair(&comparison.only_old, "only in the old document"),
                                   std::pair(&comparison.only_new, "only in the new document")}) {
    for (const std::string& id : *ids) remarks.push_back({Tone::plain, "", id, {}, where});
  }
  for (Line& line : lines_of(remarks)) lines.push_back(std::move(line));
  return lines;
}

// "2 only in the old document (a, b)"; empty for none.
std::string left_out_text(const std::vector<std::string>& ids, const char* side) {
  if (ids.empty()) return {};
  const std::size_t shown = std::min(ids.size(), most_named);
  const std::vector<std::string> named(ids.begin(),
                                       ids.begin() + static_cast<std::ptrdiff_t>(shown));
  return fmt::format("{} only in the {} document ({}{})", ids.size(), side, fmt::join(named, ", "),
                     shown < ids.size() ? ", ..." : "");
}

std::vector<Line> summary_lines(const RunComparison& comparison, const RunFile& before,
                                const RunFile& after) {
  if (comparison.comparisons.empty()) {
    return {{Tone::bad,
             fmt::format("nothing in common: {} ({}, status {}) and {} ({}, status {}) share no "
                         "measurement; measure both with the same options and devices",
                         before.path, base::count_of(before.measurements.size(), "result"),
                         before.run.status, after.path,
                         base::count_of(after.measurements.size(), "result"), after.run.status)}};
  }
  std::vector<Line> lines = headlines(comparison);
  for (Line& line : warning_lines(before, after)) lines.push_back(std::move(line));
  const std::string only_old = left_out_text(comparison.only_old, "old");
  const std::string only_new = left_out_text(comparison.only_new, "new");
  if (!only_old.empty() || !only_new.empty()) {
    lines.push_back(
        {Tone::warning, fmt::format("not compared: {}{}{}", only_old,
                                    only_old.empty() || only_new.empty() ? "" : ", ", only_new)});
  }
  std::string decidable = decidable_text(comparison.comparisons);
  if (!decidable.empty()) lines.push_back({Tone::plain, std::move(decidable)});
  lines.push_back({Tone::plain, "old: " + machine_text(before)});
  lines.push_back({Tone::plain, "new: " + machine_text(after)});
  return lines;
}

}  // namespace

report::Report compare_report(report::Run run, const report::RunComparison& comparison,
                              const report::RunFile& before, const report::RunFile& after) {
  Report report = start_report(std::move(run));
  report.verdict = summary_lines(comparison, before, after);
  report.notes = notes(comparison);
  report.tables = {comparisons_table(comparison.comparisons)};

  const auto count = [&](Verdict verdict) { return std::uint64_t{comparison.count(verdict)}; };
  Object& document = report.document;
  document.emplace_back("action", "compare");
  const auto verdict = comparison.verdict();
  document.emplace_back("verdict", verdict ? Value(report::to_string(*verdict)) : Value());
  document.emplace_back("effect", comparison.effect.value_or(0.0));
  document.emplace_back("strict", comparison.is_strict);
  document.emplace_back("old", side_value(before));
  document.emplace_back("new", side_value(after));
  document.emplace_back("machine_differences", texts(machine_differences(before, after)));
  document.emplace_back("counts", Object{{"same", count(Verdict::same)},
                                         {"faster", count(Verdict::faster)},
                                         {"slower", count(Verdict::slower)},
                                         {"ambiguous", count(Verdict::ambiguous)}});
  set_comparisons(report, comparison.comparisons);
  document.emplace_back("only_old", texts(comparison.only_old));
  document.emplace_back("only_new", texts(comparison.only_new));
  document.emplace_back("context_differences", differences_value(comparison));
  return report;
}

}  // namespace hiptool::cli
