// SPDX-License-Identifier: MIT
#include "cli/commands/report/merge_texts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/text.hpp"
#include "cli/document.hpp"
#include "machine/codes.hpp"
#include "report/text.hpp"

namespace hiptool::cli {
namespace {

using namespace report;

constexpr std::size_t most_trends = 20;  // for people; the document has all

base::Summary summary_of(const MergedGroup& group) {
  std::vector<double> values;
  for (const MergedMember& member : group.members) values.push_back(member.value);
  return base::summarize(values);
}

/// Culprits in the same place of several hosts that are slowest in the same measurement.
struct SlowPlace {
  std::vector<std::string> hosts;
  std::uint64_t measurements = 0;
  const Culprit* worst;  ///< of all hosts
};

std::vector<SlowPlace> slow_places_of(const std::vector<Culprit>& culprits) {
  std::vector<SlowPlace> places;
  std::map<std::pair<std::string, const MergedGroup*>, std::size_t> numbers;
  for (const Culprit& culprit : culprits) {  // the worst first
    const auto [number, is_new] =
        numbers.emplace(std::pair(place_text(culprit.blame), culprit.worst_group), places.size());
    if (is_new) places.push_back({{}, 0, &culprit});
    SlowPlace& place = places[number->second];
    place.hosts.push_back(culprit.blame.host);
    place.measurements += culprit.measurements;
  }
  return places;
}

// Each once, however many of its measurements are slow, and the same place of all hosts as one.
Table people_stragglers(const Merge& merge) {
  Table table{fmt::format("Stragglers [{}]", machine::codes::straggler),
              {{"host", "Host"},
               {"device", "Blamed"},
               {"measurements", "Slow results", Unit::count},
               {"measurement", "Worst"},
               {"value", "Value"},
               {"deviation", "From median"}},
              {}};
  const std::vector<Culprit> culprits = merge.culprits();
  for (const SlowPlace& place : slow_places_of(culprits)) {
    const Culprit& worst = *place.worst;
    table.rows.push_back({base::ranges_of(place.hosts), place_text(worst.blame), place.measurements,
                          worst.worst_group->label, worst.worst_group->shown(worst.worst_value),
                          signed_share(worst.worst_deviation)});
  }
  return table;
}

Table people_groups(const Merge& merge) {
  std::set<std::string> names;
  for (const MergedGroup& group : merge.groups) names.insert(group.device_name);
  // A name that all share goes into the title, which keeps the table narrow.
  std::vector<std::string_view> keys{"label"};
  if (names.size() > 1) keys.push_back("device_name");
  keys.insert(keys.end(), {"members", "median", "min", "max"});
  const bool has_one_name = names.size() == 1 && !names.begin()->empty();
  return merged_group_fields().only(keys).table(
      "Measured" + (has_one_name ? " on " + *names.begin() : std::string()), merge.groups);
}

// The order in which machines are shown.
enum class Standing { refused, interrupted, slow, accepted };

struct MachineRow {
  Standing standing = Standing::accepted;
  std::string reason;
  std::string started_at;  ///< empty where every host ran once
  std::vector<std::string> hosts;
};

std::string_view word_of(Standing standing) {
  switch (standing) {
    case Standing::refused: return "refused";
    case Standing::interrupted: return "interrupted";
    case Standing::slow: return "slow";
    case Standing::accepted: break;
  }
  return "accepted";
}

// The stragglers of each run: "nvidia:3", "nvidia:0 to nvidia:1".
std::map<const RunFile*, std::vector<std::string>> slow_places(const Merge& merge) {
  std::map<const RunFile*, std::vector<std::string>> places;
  for (const MergedGroup& group : merge.groups) {
    for (const MergedMember& member : group.members) {
      if (member.is_slow) places[member.file].push_back(place_text(member.blame));
    }
  }
  return places;
}

MachineRow machine_row(const RunFile& file, const std::vector<std::string>& slow) {
  MachineRow row;
  row.hosts = {host_of(file)};
  if (file.run.passed) {
    if (slow.empty()) return row;
    row.standing = Standing::slow;
    row.reason = fmt::format("slower than the others: {} [{}]", base::ranges_of(slow),
                             machine::codes::straggler);
    return row;
  }
  row.standing = file.run.status == "interrupted" ? Standing::interrupted : Standing::refused;
  // The notes have the whole reason.
  const auto& failures = file.run.failures;
  row.reason = one_line(!file.run.error_message().empty() ? file.run.error_message()
                        : failures.empty()                ? exit_text(file.run)
                                                          : failures[0].what);
  if (!failures.empty() && !failures[0].code.empty()) {
    row.reason += fmt::format(" [{}]", failures[0].code);
  }
  return row;
}

bool has_several_checks_of_a_host(const Merge& merge) {
  std::set<std::string> hosts;
  for (const auto* list : {&merge.files, &merge.failed_runs}) {
    for (const RunFile& file : *list) {
      if (file.run.command == "check" && !hosts.insert(host_of(file)).second) return true;
    }
  }
  return false;
}

// A line for all hosts with the same verdict and reason, or where a host ran `check` several times
// for each run.
Table people_machines(const Merge& merge) {
  const bool has_dates = has_several_checks_of_a_host(merge);
  const auto slow = slow_places(merge);
  std::vector<MachineRow> rows;
  for (const auto* list : {&merge.files, &merge.failed_runs}) {
    for (const RunFile& file : *list) {
      if (file.run.command != "check") continue;
      const auto places = slow.find(&file);
      MachineRow row =
          machine_row(file, places == slow.end() ? std::vector<std::string>() : places->second);
      if (has_dates) row.started_at = file.run.started_at;
      const auto same = std::find_if(rows.begin(), rows.end(), [&](const MachineRow& one) {
        return !has_dates &&
               std::tie(one.standing, one.reason) == std::tie(row.standing, row.reason);
      });
      if (same == rows.end()) {
        rows.push_back(std::move(row));
      } else {
        same->hosts.push_back(host_of(file));
      }
    }
  }
  for (MachineRow& row : rows)
    std::sort(row.hosts.begin(), row.hosts.end(), base::is_natural_before);
  std::stable_sort(rows.begin(), rows.end(), [](const MachineRow& left, const MachineRow& right) {
    if (left.standing != right.standing) return left.standing < right.standing;
    if (left.hosts.front() != right.hosts.front()) {
      return base::is_natural_before(left.hosts.front(), right.hosts.front());
    }
    return left.started_at < right.started_at;
  });
  Table table{"Machines", {{"host", "Host"}}, {}};
  if (has_dates) table.columns.push_back({"started_at", "Started"});
  table.columns.push_back({"verdict", "Verdict"});
  table.columns.push_back({"reason", "Reason", Unit::none, true});
  for (const MachineRow& row : rows) {
    auto& cells = table.rows.emplace_back();
    cells.emplace_back(base::ranges_of(row.hosts));
    if (has_dates) cells.push_back(report::text_or_absent(row.started_at));
    cells.emplace_back(word_of(row.standing));
    cells.push_back(report::text_or_absent(row.reason));
    auto& tones = table.tones.emplace_back(cells.size(), Tone::plain);
    tones[cells.size() - 2] = row.standing == Standing::accepted  ? Tone::plain
                              : row.standing == Standing::refused ? Tone::bad
                                                                  : Tone::warning;
  }
  return table;
}

Table people_trends(const std::vector<Trend>& trends) {
  Table table{"Changes over time",
              {{"host", "Host"},
               {"runs", "Runs", Unit::count},
               {"last_at", "Last"},
               {"usual", "Before"},
               {"last", "Last time"},
               {"change", "Change"},
               {"measurement", "Measured", Unit::none, true}},
              {}};
  for (const Trend& trend : trends) {
    if (!trend.is_notable()) continue;
    if (table.rows.size() == most_trends) break;
    const MergedGroup figures{"", "", trend.unit, 0, {}};
    table.rows.push_back({trend.host, trend.runs, trend.last_at.substr(0, 10),
                          figures.shown(trend.usual), figures.shown(trend.last),
                          signed_share(trend.change), trend.id});
    auto& tones = table.tones.emplace_back(table.columns.size(), Tone::plain);
    tones[tones.size() - 2] = trend.is_worse() ? Tone::warning : Tone::plain;
  }
  return table;
}

std::size_t count_systematic(const std::vector<SharedFinding>& findings) {
  return static_cast<std::size_t>(std::count_if(
      findings.begin(), findings.end(), [](const SharedFinding& one) { return one.is_on_all; }));
}

// "1 straggler, 2 failures and 1 failed run"; empty for none.
std::string troubles_text(const Merge& merge) {
  std::vector<std::string> parts;
  const std::pair<std::size_t, const char*> counts[] = {
      {count_systematic(merge.shared_findings()), "systematic fault"},
      {merge.count_unreadable(), "unreadable file"},
      {merge.culprits().size(), "straggler"},
      {merge.failures.size(), "failure"},
      {merge.unexplained_runs().size(), "failed run"}};
  for (const auto& [count, noun] : counts) {
    if (count > 0) parts.push_back(base::count_of(count, noun));
  }
  if (parts.size() < 2) return parts.empty() ? std::string() : parts.front();
  const std::string last = parts.back();
  parts.pop_back();
  return fmt::format("{} and {}", fmt::join(parts, ", "), last);
}

Line summary_line(const Merge& merge) {
  std::size_t members = 0;
  std::size_t untold = 0;
  for (const MergedGroup& group : merge.groups) {
    members += group.members.size();
    if (!group.can_tell()) untold += group.members.size();
  }
  std::string among = fmt::format("among {} of {}", base::count_of(members, "result"),
                                  base::count_of(merge.count_hosts(), "host"));
  const std::string left_out =
      merge.skipped.empty() ? "" : "; left out: " + base::count_of(merge.skipped.size(), "file");
  const std::string troubles = troubles_text(merge);
  if (troubles.empty() && !merge.has_common()) {
    return {Tone::bad, "nothing in common: no measurement was made twice " + among + left_out};
  }
  if (troubles.empty() && untold == members) {
    return {Tone::plain, "too few results to find stragglers " + among + left_out};
  }
  if (untold > 0) among += fmt::format(", {} of them in groups too small to compare", untold);
  if (!troubles.empty()) return {Tone::bad, troubles + " " + among + left_out};
  return {merge.skipped.empty() ? Tone::good : Tone::warning, "no straggler " + among + left_out};
}

// Findings that several hosts share, each in full once.
void add_shared_findings(const std::vector<SharedFinding>& findings, std::vector<Line>& lines) {
  for (const SharedFinding& finding : findings) {
    const Failure& failure = finding.failure;
    std::string text =
        fmt::format("{}{} on {}{} ({})", finding.is_on_all ? "systematic: " : "", failure.what,
                    finding.is_on_all ? "all " : "", base::count_of(finding.hosts.size(), "host"),
                    base::ranges_of(finding.hosts));
    if (!failure.reason.empty()) text += ": " + one_line(failure.reason);
    if (!failure.code.empty()) text += fmt::format(" [{}]", failure.code);
    lines.push_back({Tone::bad, std::move(text)});
    if (finding.is_on_all) {
      lines.push_back({Tone::plain,
                       "  to do: look for one cause (driver, firmware, BIOS setting, cabling) "
                       "before a part is replaced"});
    } else if (!failure.action.empty()) {
      lines.push_back({Tone::plain, "  to do: " + one_line(failure.action)});
    }
  }
}

// The same measurement that failed in the same way on several hosts is one line.
void add_failures(const Merge& merge, std::vector<Line>& lines) {
  std::map<std::pair<std::string, Status>, std::vector<const MergedMember*>> members;
  std::vector<const std::vector<const MergedMember*>*> order;
  for (const MergedMember& member : merge.failures) {
    auto& list = members[{member.measured->id, member.measured->status}];
    if (list.empty()) order.push_back(&list);
    list.push_back(&member);
  }
  for (const auto* list : order) {
    const Measurement& first = *list->front()->measured;
    std::vector<std::string> hosts;
    for (const MergedMember* member : *list) hosts.push_back(member->blame.host);
    const Failure* const own = own_failure(*list->front());
    const bool has_code = own != nullptr && !own->code.empty();
    lines.push_back({Tone::bad, fmt::format("{} on {}: {}{}{}", first.id, base::ranges_of(hosts),
                                            to_string(first.status),
                                            first.reason.empty() ? "" : ": " + first.reason,
                                            has_code ? fmt::format(" [{}]", own->code) : "")});
  }
}

// Whether all that the run failed for is among the shared findings.
bool is_shared(const RunFile& file, const std::vector<SharedFinding>& findings) {
  const auto is_among = [&](const Failure& failure) {
    return std::any_of(findings.begin(), findings.end(), [&](const SharedFinding& one) {
      return one.failure.what == failure.what && one.failure.code == failure.code &&
             one.failure.subject.measurement == failure.subject.measurement;
    });
  };
  const auto& failures = file.run.failures;
  return !failures.empty() && std::all_of(failures.begin(), failures.end(), is_among);
}

}  // namespace

std::vector<Table> merge_tables(const Merge& merge) {
  std::vector<Table> tables;
  if (Table machines = people_machines(merge); !machines.rows.empty()) {
    tables.push_back(std::move(machines));
  }
  tables.push_back(people_stragglers(merge));
  if (Table trends = people_trends(merge.trends()); !trends.rows.empty()) {
    tables.push_back(std::move(trends));
  }
  tables.push_back(people_groups(merge));
  return tables;
}

std::vector<Line> merge_notes(const Merge& merge) {
  std::vector<Line> lines;
  const std::vector<SharedFinding> shared = merge.shared_findings();
  add_shared_findings(shared, lines);
  add_failures(merge, lines);
  for (const RunFile* file : merge.unexplained_runs()) {
    if (is_shared(*file, shared)) continue;
    lines.push_back({Tone::bad, fmt::format("failed run {} on {}: {}", file->path, host_of(*file),
                                            reason_of(file->run))});
  }
  const std::vector<Trend> trends = merge.trends();
  const auto changed = static_cast<std::size_t>(std::count_if(
      trends.begin(), trends.end(), [](const Trend& trend) { return trend.is_notable(); }));
  const bool has_short = std::any_of(trends.begin(), trends.end(), [](const Trend& trend) {
    return trend.spread > steady_spread;
  });
  if (!trends.empty()) {
    lines.push_back(
        {Tone::plain, fmt::format("over time: {} of {} changed by {} or more{}", changed,
                                  base::count_of(trends.size(), "repeated measurement"),
                                  format_value(steady_spread, Unit::share),
                                  has_short ? " (calls under 100 us by 50 %)" : "")});
  }
  const auto untold =
      static_cast<std::size_t>(std::count_if(merge.groups.begin(), merge.groups.end(),
                                             [](const auto& group) { return !group.can_tell(); }));
  if (untold > 0) {
    lines.push_back(
        {Tone::plain, fmt::format("too few results: {} with fewer than {} results",
                                  base::count_of(untold, "measurement"), least_members_to_tell)});
  }
  for (const SkippedFile& file : merge.skipped) {
    lines.push_back({Tone::warning, fmt::format("left out {}: {}", file.path, file.reason)});
  }
  const auto hosts = merge.excluded_hosts();
  if (!hosts.empty()) {
    lines.push_back({Tone::plain, fmt::format("exclude: {}", fmt::join(hosts, ","))});
  }
  for (const std::string& host : merge.unnamed_hosts()) {
    lines.push_back({Tone::warning,
                     fmt::format("not among the hosts to exclude, because its name cannot be used "
                                 "in a command: {}",
                                 host)});
  }
  return lines;
}

Fields<MergedGroup> merged_group_fields() {
  using One = const MergedGroup&;
  const auto figure = [](const char* key, const char* title, double base::Summary::*part) {
    return Field<MergedGroup>(
        {key, title}, [part](One one) { return summary_of(one).*part; },
        [part](One one) { return one.shown(summary_of(one).*part); });
  };
  return {
      {{"label", "Measured"}, &MergedGroup::label},
      {{"device_name", "Device"}, report::text_or_absent(&MergedGroup::device_name)},
      {{"unit"}, &MergedGroup::unit},
      {{"members", "Results", Unit::count}, [](One one) { return one.members.size(); }},
      {{"median", "Median"}, &MergedGroup::median, [](One one) { return one.shown(one.median); }},
      figure("min", "Least", &base::Summary::min),
      figure("max", "Most", &base::Summary::max),
      figure("p05", "", &base::Summary::p05),
      figure("p95", "", &base::Summary::p95),
      {{"can_tell"}, [](One one) { return one.can_tell(); }}};
}

std::vector<Line> merge_verdict(const Merge& merge) { return {summary_line(merge)}; }

}  // namespace hiptool::cli
