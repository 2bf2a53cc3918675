// SPDX-License-Identifier: MIT
#include "cli/commands/report/merge_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/statistics.hpp"
#include "base/text.hpp"
#include "cli/document.hpp"
#include "cli/exit_code.hpp"
#include "report/tree.hpp"

namespace hiptool::cli {
namespace {

using report::Array;
using report::Object;
using report::Tone;
using report::Unit;
using report::Value;

// The device to look at: the one to blame, else the end of the link.
std::string device_of(const Blame& blame) {
  return blame.device.empty() ? blame.destination : blame.device;
}

Value field_of(const MergedMember& member, std::string_view field) {
  return text_or_absent(
      report::device_field(member.file->document, device_of(member.blame), field));
}

Object blame_value(const Blame& blame) {
  return {{"host", blame.host},
          {"device", text_or_absent(blame.device)},
          {"source", text_or_absent(blame.source)},
          {"destination", text_or_absent(blame.destination)}};
}

std::string place_text(const Blame& blame) {
  return blame.device.empty() ? blame.source + " to " + blame.destination : blame.device;
}

Object member_head(const MergedMember& member) {
  return {{"host", host_of(*member.file)},
          {"file", member.file->path},
          {"cell", member.measured->id},
          {"source", text_or_absent(member.measured->source)},
          {"destination", text_or_absent(member.measured->destination)},
          {"pci_bus_id", field_of(member, "pci_bus_id")},
          {"uuid", field_of(member, "uuid")}};
}

Object straggler_value(const MergedGroup& group, const MergedMember& member) {
  Object fields = member_head(member);
  fields.emplace_back("label", group.label);
  fields.emplace_back("device_name", text_or_absent(group.device_name));
  fields.emplace_back("members", static_cast<std::uint64_t>(group.members.size()));
  fields.emplace_back("unit", group.unit);
  fields.emplace_back("value", member.value);
  fields.emplace_back("median", group.median);
  fields.emplace_back("deviation", member.deviation);
  fields.emplace_back("z", member.z);
  fields.emplace_back("direction", member.deviation < 0 ? "slow" : "fast");
  fields.emplace_back("blame", blame_value(member.blame));
  return fields;
}

Object failure_value(const MergedMember& member) {
  Object fields = member_head(member);
  fields.emplace_back("status", member.measured->status);
  fields.emplace_back("reason", text_or_absent(member.measured->reason));
  return fields;
}

Object group_value(const MergedGroup& group) {
  std::vector<double> values;
  for (const MergedMember& member : group.members) values.push_back(member.value);
  const base::Summary summary = base::summarize(values);
  return {{"label", group.label},   {"device_name", text_or_absent(group.device_name)},
          {"unit", group.unit},     {"members", static_cast<std::uint64_t>(values.size())},
          {"median", group.median}, {"min", summary.min},
          {"max", summary.max},     {"p05", summary.p05},
          {"p95", summary.p95},     {"can_tell", group.can_tell()}};
}

struct Culprit {
  Blame blame;
  std::uint64_t cells = 0;
  double worst = 0;  // the most negative deviation
};

std::vector<Culprit> culprits(const Merge& merge) {
  std::vector<Culprit> list;
  for (const MergedGroup& group : merge.groups) {
    for (const MergedMember& member : group.members) {
      if (!member.is_straggler || member.deviation > 0) continue;
      auto found = std::find_if(list.begin(), list.end(), [&member](const Culprit& culprit) {
        return culprit.blame == member.blame;
      });
      if (found == list.end()) found = list.insert(list.end(), Culprit{member.blame, 0, 0});
      ++found->cells;
      found->worst = std::min(found->worst, member.deviation);
    }
  }
  std::stable_sort(list.begin(), list.end(), [](const Culprit& left, const Culprit& right) {
    return left.worst < right.worst;
  });
  return list;
}

std::size_t count_hosts(const Merge& merge) {
  std::set<std::string> hosts;
  for (const ReportFile& file : merge.files) hosts.insert(host_of(file));
  return hosts.size();
}

Value shown(double value, const std::string& unit) {
  if (unit == "bytes_per_s") return report::format_value(value, Unit::rate);
  if (unit == "per_s") return report::format_value(1 / value, Unit::duration);
  return fmt::format("{:.4g} FLOP/s", value);
}

report::Table people_stragglers(const Merge& merge) {
  report::Table table{"Stragglers",
                      {{"host", "Host", Unit::none},
                       {"device", "Blamed", Unit::none},
                       {"cell", "Measured", Unit::none},
                       {"value", "Value", Unit::none},
                       {"deviation", "From median", Unit::none},
                       {"z", "z", Unit::none}},
                      {}};
  for (const MergedGroup& group : merge.groups) {
    for (const MergedMember& member : group.members) {
      if (!member.is_straggler) continue;
      table.rows.push_back({member.blame.host, place_text(member.blame), group.label,
                            shown(member.value, group.unit), report::signed_share(member.deviation),
                            fmt::format("{:+.1f}", member.z)});
    }
  }
  return table;
}

report::Table people_groups(const Merge& merge) {
  std::set<std::string> names;
  for (const MergedGroup& group : merge.groups) names.insert(group.device_name);
  report::Table table{"Measured", {{"label", "Measured", Unit::none}}, {}};
  // One name for all stands above, so that the table stays narrow.
  const bool has_names = names.size() > 1;
  if (has_names) table.columns.push_back({"device_name", "Device", Unit::none});
  if (!has_names && !names.begin()->empty()) table.title += " on " + *names.begin();
  table.columns.push_back({"members", "Results", Unit::count});
  table.columns.push_back({"median", "Median", Unit::none});
  table.columns.push_back({"min", "Least", Unit::none});
  table.columns.push_back({"max", "Most", Unit::none});
  for (const MergedGroup& group : merge.groups) {
    double least = group.median;
    double most = group.median;
    for (const MergedMember& member : group.members) {
      least = std::min(least, member.value);
      most = std::max(most, member.value);
    }
    auto& row = table.rows.emplace_back();
    row.emplace_back(group.label);
    if (has_names) row.emplace_back(text_or_absent(group.device_name));
    row.emplace_back(static_cast<std::uint64_t>(group.members.size()));
    row.push_back(shown(group.median, group.unit));
    row.push_back(shown(least, group.unit));
    row.push_back(shown(most, group.unit));
  }
  return table;
}

// A table for programs from objects that have the same members; objects inside are left to JSON.
report::Table full_table(const std::string& title, const Array& list) {
  report::Table table;
  table.title = title;
  for (const Value& entry : list) {
    table.columns.clear();
    auto& row = table.rows.emplace_back();
    for (const auto& [key, value] : std::get<Object>(entry.data())) {
      table.columns.push_back({key, key, Unit::none});
      row.push_back(value);
    }
  }
  return table;
}

report::Line verdict(const Merge& merge) {
  std::size_t members = 0;
  std::size_t untold = 0;
  for (const MergedGroup& group : merge.groups) {
    members += group.members.size();
    if (!group.can_tell()) untold += group.members.size();
  }
  std::string among = fmt::format("among {} of {}", base::count_of(members, "result"),
                                  base::count_of(count_hosts(merge), "host"));
  const std::size_t slow = culprits(merge).size();
  if (untold == members && untold > 0 && merge.failures.empty()) {
    return {Tone::plain, "too few to tell a straggler " + among};
  }
  if (untold > 0) among += fmt::format(", {} of them too few to tell", untold);
  if (slow == 0 && merge.failures.empty()) return {Tone::good, "no straggler " + among};
  std::string text;
  if (slow > 0) text = base::count_of(slow, "straggler");
  if (!merge.failures.empty()) {
    text += (text.empty() ? "" : " and ") + base::count_of(merge.failures.size(), "failure");
  }
  return {merge.failures.empty() ? Tone::warning : Tone::bad, text + " " + among};
}

std::vector<report::Line> notes(const Merge& merge) {
  std::vector<report::Line> lines;
  for (const Culprit& culprit : culprits(merge)) {
    lines.push_back(
        {Tone::warning,
         fmt::format("{} on {}: {} slow, down to {}", place_text(culprit.blame), culprit.blame.host,
                     culprit.cells == 1 ? "one result" : fmt::format("{} results", culprit.cells),
                     report::signed_share(culprit.worst))});
  }
  for (const MergedMember& member : merge.failures) {
    lines.push_back(
        {Tone::bad,
         fmt::format("{} on {}: {}{}", member.measured->id, member.blame.host,
                     member.measured->status,
                     member.measured->reason.empty() ? "" : ": " + member.measured->reason)});
  }
  const auto untold =
      static_cast<std::size_t>(std::count_if(merge.groups.begin(), merge.groups.end(),
                                             [](const auto& group) { return !group.can_tell(); }));
  if (untold > 0) {
    lines.push_back(
        {Tone::plain, fmt::format("too few to tell: {} with fewer than {} results",
                                  base::count_of(untold, "measurement"), least_members_to_tell)});
  }
  for (const SkippedFile& file : merge.skipped) {
    lines.push_back({Tone::warning, fmt::format("left out {}: {}", file.path, file.reason)});
  }
  const std::string hosts = exclude_list(merge);
  if (!hosts.empty()) lines.push_back({Tone::plain, "exclude: " + hosts});
  return lines;
}

bool is_host_name(const std::string& name) {
  constexpr std::string_view letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  return !name.empty() && name.front() != '-' &&
         name.find_first_not_of(letters) == std::string::npos;
}

Array files_value(const Merge& merge) {
  Array list;
  for (const ReportFile& file : merge.files) {
    list.push_back(Object{{"path", file.path},
                          {"kind", file.kind.name},
                          {"host", host_of(file)},
                          {"status", file.status},
                          {"measurements", static_cast<std::uint64_t>(file.measured.size())}});
  }
  return list;
}

}  // namespace

std::vector<std::string> excluded_hosts(const Merge& merge) {
  std::set<std::string> hosts;
  const auto add = [&hosts](const ReportFile& file) {
    const Value& name = report::member(report::member(file.document, "host"), "name");
    // What is no name must not become an option or another host of the command it is pasted into.
    if (is_host_name(report::text_of(name))) hosts.insert(report::text_of(name));
  };
  for (const MergedGroup& group : merge.groups) {
    for (const MergedMember& member : group.members) {
      if (member.is_straggler && member.deviation < 0) add(*member.file);
    }
  }
  for (const MergedMember& member : merge.failures) add(*member.file);
  return {hosts.begin(), hosts.end()};
}

std::string exclude_list(const Merge& merge) {
  return fmt::format("{}", fmt::join(excluded_hosts(merge), ","));
}

MergeReports make_merge_reports(Object head, const Merge& merge) {
  Array stragglers;
  Array groups;
  for (const MergedGroup& group : merge.groups) {
    groups.push_back(group_value(group));
    for (const MergedMember& member : group.members) {
      if (member.is_straggler) stragglers.push_back(straggler_value(group, member));
    }
  }
  Array blamed;
  for (const Culprit& culprit : culprits(merge)) {
    Object fields = blame_value(culprit.blame);
    fields.emplace_back("cells", culprit.cells);
    fields.emplace_back("worst_deviation", culprit.worst);
    blamed.push_back(std::move(fields));
  }
  Array failures;
  for (const MergedMember& member : merge.failures) failures.push_back(failure_value(member));
  Array skipped;
  for (const SkippedFile& file : merge.skipped) {
    skipped.push_back(Object{{"path", file.path}, {"reason", file.reason}});
  }
  const std::vector<std::string> hosts = excluded_hosts(merge);
  MergeReports reports;
  report::Report& programs = reports.for_programs;
  programs.tables = {full_table("stragglers", stragglers), full_table("groups", groups)};
  head.emplace_back("action", "merge");
  head.emplace_back("hosts", static_cast<std::uint64_t>(count_hosts(merge)));
  head.emplace_back("files", files_value(merge));
  head.emplace_back("skipped_files", std::move(skipped));
  head.emplace_back("groups", std::move(groups));
  head.emplace_back("stragglers", std::move(stragglers));
  head.emplace_back("blamed", std::move(blamed));
  head.emplace_back("failures", std::move(failures));
  head.emplace_back("exclude_hosts", Array(hosts.begin(), hosts.end()));
  programs.document = std::move(head);
  programs.verdict = {verdict(merge)};
  programs.notes = notes(merge);
  reports.for_people = programs;
  reports.for_people.tables = {people_stragglers(merge), people_groups(merge)};
  return reports;
}

int run_report_merge(const ReportOptions& options, Context& context) {
  std::optional<ExportFile> list;
  if (!options.exclude_list.empty()) list.emplace(options.exclude_list, "--exclude-list FILE");
  const Merge merge = merge_reports(options.files);
  const MergeReports reports =
      make_merge_reports(make_document(context.environment, "report", "ok"), merge);
  if (list) {
    const std::string hosts = exclude_list(merge);
    list->write(hosts.empty() ? hosts : hosts + "\n");
  }
  context.output.write(reports.for_people, reports.for_programs);
  return exit_done;
}

}  // namespace hiptool::cli
