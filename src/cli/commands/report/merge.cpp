// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "cli/commands/report/report.hpp"
#include "cli/document.hpp"
#include "report/document.hpp"
#include "report/fields.hpp"
#include "report/text.hpp"

namespace hiptool::cli {
namespace {

using namespace report;

Object blame_value(const Blame& blame) {
  return {{"host", blame.host},
          {"device", report::text_or_absent(blame.device)},
          {"source", report::text_or_absent(blame.source)},
          {"destination", report::text_or_absent(blame.destination)}};
}

Object straggler_value(const MergedGroup& group, const MergedMember& member) {
  Object fields = member_head(member);
  fields.emplace_back("label", group.label);
  fields.emplace_back("device_name", report::text_or_absent(group.device_name));
  fields.emplace_back("members", group.members.size());
  fields.emplace_back("unit", group.unit);
  fields.emplace_back("value", member.value);
  fields.emplace_back("median", group.median);
  fields.emplace_back("deviation", member.deviation);
  fields.emplace_back("z", member.z);
  fields.emplace_back("direction", "slow");
  fields.emplace_back("blame", blame_value(member.blame));
  return fields;
}

base::Summary summary_of(const MergedGroup& group) {
  std::vector<double> values;
  for (const MergedMember& member : group.members) values.push_back(member.value);
  return base::summarize(values);
}

Fields<MergedGroup> group_fields() {
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

Table people_stragglers(const Merge& merge) {
  Table table{"Stragglers",
              {{"host", "Host", Unit::none},
               {"device", "Blamed", Unit::none},
               {"measurement", "Measured", Unit::none},
               {"value", "Value", Unit::none},
               {"deviation", "From median", Unit::none},
               {"z", "z", Unit::none}},
              {}};
  for (const MergedGroup& group : merge.groups) {
    for (const MergedMember& member : group.members) {
      if (!member.is_slow) continue;
      table.rows.push_back({member.blame.host, place_text(member.blame), group.label,
                            group.shown(member.value), signed_share(member.deviation),
                            fmt::format("{:+.1f}", member.z)});
    }
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
  return group_fields().only(keys).table(
      "Measured" + (has_one_name ? " on " + *names.begin() : std::string()), merge.groups);
}

// A line for each run of `check`: what it said of the machine.
Table people_machines(const Merge& merge) {
  Table table{"Machines",
              {{"host", "Host", Unit::none},
               {"verdict", "Verdict", Unit::none},
               {"reason", "Reason", Unit::none, true}},
              {}};
  for (const auto* list : {&merge.files, &merge.failed_runs}) {
    for (const RunFile& file : *list) {
      if (file.run.command != "check") continue;
      // The notes have the whole reason.
      const std::string reason = file.run.passed                     ? ""
                                 : !file.run.error_message().empty() ? file.run.error_message()
                                 : file.run.failures.empty()         ? exit_text(file.run)
                                                                     : file.run.failures[0].what;
      table.rows.push_back({host_of(file), file.run.passed ? "accepted" : "refused",
                            report::text_or_absent(one_line(reason))});
    }
  }
  return table;
}

// "1 straggler, 2 failures and 1 failed run"; empty for none.
std::string troubles_text(const Merge& merge) {
  std::vector<std::string> parts;
  const std::pair<std::size_t, const char*> counts[] = {
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

std::vector<Line> notes(const Merge& merge) {
  std::vector<Line> lines;
  for (const Culprit& culprit : merge.culprits()) {
    lines.push_back(
        {Tone::warning,
         fmt::format("{} on {}: {} slow, {} {} from the median{}", place_text(culprit.blame),
                     culprit.blame.host, base::count_of(culprit.measurements, "result"),
                     culprit.is_time ? "time" : "rate", signed_share(culprit.worst_deviation),
                     culprit.measurements == 1 ? "" : " at worst")});
  }
  for (const MergedMember& member : merge.failures) {
    lines.push_back(
        {Tone::bad,
         fmt::format("{} on {}: {}{}", member.measured->id, member.blame.host,
                     to_string(member.measured->status),
                     member.measured->reason.empty() ? "" : ": " + member.measured->reason)});
  }
  for (const RunFile* file : merge.unexplained_runs()) {
    lines.push_back({Tone::bad, fmt::format("failed run {} on {}: {}", file->path, host_of(*file),
                                            reason_of(file->run))});
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
  return lines;
}

Array files_value(const Merge& merge) {
  return array_of(merge.files, [](const RunFile& file) {
    return Object{{"path", file.path},
                  {"kind", file.run.command},
                  {"host", host_of(file)},
                  {"status", file.run.status},
                  {"passed", file.run.passed},
                  {"measurements", file.measurements.size()},
                  {"started_at", report::text_or_absent(file.run.started_at)},
                  {"devices", devices_value({file.devices.begin(), file.devices.end()})}};
  });
}

// The first columns, which every row has.
std::vector<Value> start_of_row(const MergedMember& member) {
  const Measurement& measured = *member.measured;
  const std::string id = measured.devices.size() == 1 ? measured.devices.front() : "";
  const DeviceTexts& device = texts_of(member.file->devices, id);
  return {host_of(*member.file),
          member.file->path,
          measured.id,
          measured.label,
          report::text_or_absent(measured.source),
          report::text_or_absent(measured.destination),
          report::text_or_absent(device.pci_bus_id),
          report::text_or_absent(device.uuid),
          to_string(measured.status),
          report::text_or_absent(measured.reason)};
}

Table full_table(const Merge& merge) {
  Table table =
      report::table_of_keys({"host", "file", "measurement", "label", "source", "destination",
                             "pci_bus_id", "uuid", "status", "reason", "device_name", "members",
                             "unit", "value", "median", "deviation", "z", "straggler"});
  for (const MergedGroup& group : merge.groups) {
    for (const MergedMember& member : group.members) {
      auto& row = table.rows.emplace_back(start_of_row(member));
      const Value straggler = member.is_slow ? Value("slow") : Value();
      row.insert(row.end(),
                 {report::text_or_absent(group.device_name), group.members.size(), group.unit,
                  member.value, group.median, member.deviation, member.z, straggler});
    }
  }
  for (const MergedMember& member : merge.failures) table.rows.push_back(start_of_row(member));
  for (const RunFile& file : merge.failed_runs) {
    auto& row = table.rows.emplace_back(8);
    row[0] = host_of(file);
    row[1] = file.path;
    row.insert(row.end(), {file.run.status, report::text_or_absent(file.run.error_message())});
  }
  return table;
}

}  // namespace

report::Report merge_report(report::Run run, const report::Merge& merge) {
  Array stragglers;
  for (const MergedGroup& group : merge.groups) {
    for (const MergedMember& member : group.members) {
      if (member.is_slow) stragglers.push_back(straggler_value(group, member));
    }
  }
  Array blamed;
  for (const Culprit& culprit : merge.culprits()) {
    Object fields = blame_value(culprit.blame);
    fields.emplace_back("measurements", culprit.measurements);
    fields.emplace_back("worst_deviation", culprit.worst_deviation);
    blamed.push_back(std::move(fields));
  }
  const auto skipped_value = [](const SkippedFile& file) {
    return Object{{"path", file.path}, {"reason", file.reason}};
  };
  const std::vector<std::string> hosts = merge.excluded_hosts();
  Report report = start_report(std::move(run));
  Object& document = report.document;
  document.emplace_back("action", "merge");
  document.emplace_back("hosts", merge.count_hosts());
  document.emplace_back("files", files_value(merge));
  document.emplace_back("skipped_files", array_of(merge.skipped, skipped_value));
  document.emplace_back("groups", group_fields().objects(merge.groups));
  document.emplace_back("stragglers", std::move(stragglers));
  document.emplace_back("blamed", std::move(blamed));
  document.emplace_back("exclude_hosts", Array(hosts.begin(), hosts.end()));
  report.verdict = {summary_line(merge)};
  report.notes = notes(merge);
  report.tables = {people_stragglers(merge), people_groups(merge)};
  if (Table machines = people_machines(merge); !machines.rows.empty()) {
    report.tables.insert(report.tables.begin(), std::move(machines));
  }
  report.csv_tables = {full_table(merge)};
  return report;
}

}  // namespace hiptool::cli
