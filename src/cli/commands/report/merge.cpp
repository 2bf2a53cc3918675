// SPDX-License-Identifier: MIT
#include "cli/commands/report/merge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/statistics.hpp"
#include "base/text.hpp"
#include "cli/commands/report/merge_table.hpp"
#include "cli/document.hpp"
#include "cli/failure.hpp"
#include "report/tree.hpp"

namespace hiptool::cli {
namespace {

using report::Array;
using report::Object;
using report::Tone;
using report::Unit;
using report::Value;

// The device to look at: the one to blame, else the end of the link.
std::string device_of(const report::Blame& blame) {
  return blame.device.empty() ? blame.destination : blame.device;
}

Object blame_value(const report::Blame& blame) {
  return {{"host", blame.host},
          {"device", text_or_absent(blame.device)},
          {"source", text_or_absent(blame.source)},
          {"destination", text_or_absent(blame.destination)}};
}

std::string place_text(const report::Blame& blame) {
  return blame.device.empty() ? blame.source + " to " + blame.destination : blame.device;
}

Object member_head(const report::MergedMember& member) {
  const report::DeviceTexts& device =
      report::texts_of(member.file->devices, device_of(member.blame));
  return {{"host", report::host_of(*member.file)},
          {"file", member.file->path},
          {"cell", member.measured->id},
          {"source", text_or_absent(member.measured->source)},
          {"destination", text_or_absent(member.measured->destination)},
          {"pci_bus_id", text_or_absent(device.pci_bus_id)},
          {"uuid", text_or_absent(device.uuid)}};
}

Object straggler_value(const report::MergedGroup& group, const report::MergedMember& member) {
  Object fields = member_head(member);
  fields.emplace_back("label", group.label);
  fields.emplace_back("device_name", text_or_absent(group.device_name));
  fields.emplace_back("members", static_cast<std::uint64_t>(group.members.size()));
  fields.emplace_back("unit", group.unit);
  fields.emplace_back("value", member.value);
  fields.emplace_back("median", group.median);
  fields.emplace_back("deviation", member.deviation);
  fields.emplace_back("z", member.z);
  fields.emplace_back("direction", member.is_slow ? "slow" : "fast");
  fields.emplace_back("blame", blame_value(member.blame));
  return fields;
}

Object group_value(const report::MergedGroup& group) {
  std::vector<double> values;
  for (const report::MergedMember& member : group.members) values.push_back(member.value);
  const base::Summary summary = base::summarize(values);
  return {{"label", group.label},   {"device_name", text_or_absent(group.device_name)},
          {"unit", group.unit},     {"members", static_cast<std::uint64_t>(values.size())},
          {"median", group.median}, {"min", summary.min},
          {"max", summary.max},     {"p05", summary.p05},
          {"p95", summary.p95},     {"can_tell", group.can_tell()}};
}

struct Culprit {
  report::Blame blame;
  std::uint64_t cells = 0;
  double worst_loss = 0;
  double worst = 0;  // the deviation there
  bool is_time = false;
};

std::vector<Culprit> culprits(const report::Merge& merge) {
  std::vector<Culprit> list;
  std::map<report::Blame, std::size_t> places;
  for (const report::MergedGroup& group : merge.groups) {
    for (const report::MergedMember& member : group.members) {
      if (!member.is_slow) continue;
      const auto [place, is_new] = places.emplace(member.blame, list.size());
      if (is_new) list.push_back(Culprit{member.blame});
      Culprit& culprit = list[place->second];
      ++culprit.cells;
      const double loss = group.loss_of(member.value);
      if (loss <= culprit.worst_loss) continue;
      culprit.worst_loss = loss;
      culprit.worst = member.deviation;
      culprit.is_time = group.is_time();
    }
  }
  std::stable_sort(list.begin(), list.end(), [](const Culprit& left, const Culprit& right) {
    return left.worst_loss > right.worst_loss;
  });
  return list;
}

std::size_t count_hosts(const report::Merge& merge) {
  std::set<std::string> hosts;
  for (const report::ReportFile& file : merge.files) hosts.insert(report::host_of(file));
  for (const report::ReportFile& run : merge.failed_runs) hosts.insert(report::host_of(run));
  return hosts.size();
}

Value shown(double value, const std::string& unit) {
  if (unit == "bytes_per_s") return report::format_value(value, Unit::rate);
  if (unit == "s") return report::format_value(value, Unit::duration);
  return fmt::format("{:.4g} FLOP/s", value);
}

report::Table people_stragglers(const report::Merge& merge) {
  report::Table table{"Stragglers",
                      {{"host", "Host", Unit::none},
                       {"device", "Blamed", Unit::none},
                       {"cell", "Measured", Unit::none},
                       {"value", "Value", Unit::none},
                       {"deviation", "From median", Unit::none},
                       {"z", "z", Unit::none}},
                      {}};
  for (const report::MergedGroup& group : merge.groups) {
    for (const report::MergedMember& member : group.members) {
      if (!member.is_straggler) continue;
      table.rows.push_back({member.blame.host, place_text(member.blame), group.label,
                            shown(member.value, group.unit), report::signed_share(member.deviation),
                            fmt::format("{:+.1f}", member.z)});
    }
  }
  return table;
}

report::Table people_groups(const report::Merge& merge) {
  std::set<std::string> names;
  for (const report::MergedGroup& group : merge.groups) names.insert(group.device_name);
  report::Table table{"Measured", {{"label", "Measured", Unit::none}}, {}};
  // One name for all stands above, so that the table stays narrow.
  const bool has_names = names.size() > 1;
  if (has_names) table.columns.push_back({"device_name", "Device", Unit::none});
  if (names.size() == 1 && !names.begin()->empty()) table.title += " on " + *names.begin();
  table.columns.push_back({"members", "Results", Unit::count});
  table.columns.push_back({"median", "Median", Unit::none});
  table.columns.push_back({"min", "Least", Unit::none});
  table.columns.push_back({"max", "Most", Unit::none});
  for (const report::MergedGroup& group : merge.groups) {
    double least = group.median;
    double most = group.median;
    for (const report::MergedMember& member : group.members) {
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

// Runs that did not pass and of which no measurement is among the failures.
std::vector<const report::ReportFile*> failed_runs(const report::Merge& merge) {
  std::set<const report::ReportFile*> listed;
  for (const report::MergedMember& member : merge.failures) listed.insert(member.file);
  std::vector<const report::ReportFile*> runs;
  for (const report::ReportFile& file : merge.files) {
    if (!file.verdict.passed && listed.count(&file) == 0) runs.push_back(&file);
  }
  for (const report::ReportFile& run : merge.failed_runs) runs.push_back(&run);
  return runs;
}

std::string reason_of(const report::ReportFile& run) {
  std::string text = report::exit_text(run.verdict);
  if (!run.verdict.exit_code) text = "status " + run.status;
  const std::string message =
      report::text_of(report::member(report::member(run.head, "error"), "message"));
  if (!message.empty()) return text + ": " + message;
  return run.verdict.failures.empty() ? text
                                      : text + ": " + failure_text(run.verdict.failures.front());
}

// A failure as the document has it: with the fields of its measurement.
struct FailureEntry {
  report::Failure failure;
  Object fields;
};

FailureEntry straggler_failure(const report::MergedGroup& group,
                               const report::MergedMember& member) {
  FailureEntry entry{
      {report::host_of(*member.file) + " " + place_text(member.blame) + " " + group.label,
       report::text_of(shown(group.median, group.unit)) + ", the median of " +
           std::to_string(group.members.size()),
       shown(member.value, group.unit)},
      member_head(member)};
  entry.fields.emplace_back("kind", "straggler");
  entry.fields.emplace_back("status", member.measured->status);
  entry.fields.emplace_back("reason", Value());
  return entry;
}

FailureEntry measurement_failure(const report::MergedMember& member) {
  const report::Measurement& measured = *member.measured;
  const std::string reason = measured.reason.empty() ? "" : ": " + measured.reason;
  FailureEntry entry{
      {report::host_of(*member.file) + " " + measured.id, "ok", measured.status + reason},
      member_head(member)};
  entry.fields.emplace_back("kind", "measurement");
  entry.fields.emplace_back("status", measured.status);
  entry.fields.emplace_back("reason", text_or_absent(measured.reason));
  return entry;
}

FailureEntry run_failure(const report::ReportFile& run) {
  return {{report::host_of(run) + " " + run.path, "a run that passed", reason_of(run)},
          {{"host", report::host_of(run)},
           {"file", run.path},
           {"cell", Value()},
           {"kind", "run"},
           {"status", run.status},
           {"reason", reason_of(run)}}};
}

std::size_t unreadable_files(const report::Merge& merge) {
  return static_cast<std::size_t>(
      std::count_if(merge.skipped.begin(), merge.skipped.end(),
                    [](const report::SkippedFile& file) { return file.is_unreadable; }));
}

// A rank that died, or wrote half a file, is no reason to call the others sound.
std::optional<Error> unreadable_error(const report::Merge& merge) {
  std::string message;
  for (const report::SkippedFile& file : merge.skipped) {
    if (!file.is_unreadable) continue;
    const bool is_named = file.reason.compare(0, file.path.size(), file.path) == 0;
    message += "\n" + (is_named ? "" : file.path + ": ") + file.reason;
  }
  if (message.empty()) return std::nullopt;
  return Error(
      ErrorCode::input_failed, "report merge",
      "cannot use " + base::count_of(unreadable_files(merge), "file") + " of " +
          std::to_string(merge.files.size() + merge.failed_runs.size() + unreadable_files(merge)) +
          ":" + message,
      "find out why these runs left no result, or leave the files out");
}

std::vector<FailureEntry> failure_entries(const report::Merge& merge) {
  std::vector<FailureEntry> entries;
  for (const report::MergedMember& member : merge.failures)
    entries.push_back(measurement_failure(member));
  for (const report::MergedGroup& group : merge.groups) {
    for (const report::MergedMember& member : group.members) {
      if (member.is_slow) entries.push_back(straggler_failure(group, member));
    }
  }
  for (const report::ReportFile* run : failed_runs(merge)) entries.push_back(run_failure(*run));
  if (entries.empty() && !merge.has_common()) {
    entries.push_back(
        {{"measurements made more than once", "at least 1", 0}, {{"kind", "nothing in common"}}});
  }
  return entries;
}

// "1 straggler, 2 failures and 1 failed run"; empty for none.
std::string troubles_text(const report::Merge& merge) {
  std::vector<std::string> parts;
  const std::pair<std::size_t, const char*> counts[] = {
      {unreadable_files(merge), "unreadable file"},
      {culprits(merge).size(), "straggler"},
      {merge.failures.size(), "failure"},
      {failed_runs(merge).size(), "failed run"}};
  for (const auto& [count, noun] : counts) {
    if (count > 0) parts.push_back(base::count_of(count, noun));
  }
  if (parts.size() < 2) return parts.empty() ? std::string() : parts.front();
  const std::string last = parts.back();
  parts.pop_back();
  return fmt::format("{} and {}", fmt::join(parts, ", "), last);
}

report::Line verdict(const report::Merge& merge) {
  std::size_t members = 0;
  std::size_t untold = 0;
  for (const report::MergedGroup& group : merge.groups) {
    members += group.members.size();
    if (!group.can_tell()) untold += group.members.size();
  }
  std::string among = fmt::format("among {} of {}", base::count_of(members, "result"),
                                  base::count_of(count_hosts(merge), "host"));
  const std::string left_out =
      merge.skipped.empty() ? "" : "; left out: " + base::count_of(merge.skipped.size(), "file");
  const std::string troubles = troubles_text(merge);
  if (troubles.empty() && !merge.has_common()) {
    return {Tone::bad, "nothing in common: no measurement was made twice " + among + left_out};
  }
  if (troubles.empty() && untold == members) {
    return {Tone::plain, "too few to tell a straggler " + among + left_out};
  }
  if (untold > 0) among += fmt::format(", {} of them too few to tell", untold);
  if (!troubles.empty()) return {Tone::bad, troubles + " " + among + left_out};
  return {merge.skipped.empty() ? Tone::good : Tone::warning, "no straggler " + among + left_out};
}

std::vector<report::Line> notes(const report::Merge& merge) {
  std::vector<report::Line> lines;
  for (const Culprit& culprit : culprits(merge)) {
    lines.push_back(
        {Tone::warning,
         fmt::format("{} on {}: {} slow, {} {} from the median{}", place_text(culprit.blame),
                     culprit.blame.host, base::count_of(culprit.cells, "result"),
                     culprit.is_time ? "time" : "rate", report::signed_share(culprit.worst),
                     culprit.cells == 1 ? "" : " at worst")});
  }
  for (const report::MergedMember& member : merge.failures) {
    lines.push_back(
        {Tone::bad,
         fmt::format("{} on {}: {}{}", member.measured->id, member.blame.host,
                     member.measured->status,
                     member.measured->reason.empty() ? "" : ": " + member.measured->reason)});
  }
  for (const report::ReportFile* run : failed_runs(merge)) {
    lines.push_back({Tone::bad, fmt::format("failed run {} on {}: {}", run->path,
                                            report::host_of(*run), reason_of(*run))});
  }
  const auto untold =
      static_cast<std::size_t>(std::count_if(merge.groups.begin(), merge.groups.end(),
                                             [](const auto& group) { return !group.can_tell(); }));
  if (untold > 0) {
    lines.push_back({Tone::plain, fmt::format("too few to tell: {} with fewer than {} results",
                                              base::count_of(untold, "measurement"),
                                              report::least_members_to_tell)});
  }
  for (const report::SkippedFile& file : merge.skipped) {
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

Array files_value(const report::Merge& merge) {
  Array list;
  for (const report::ReportFile& file : merge.files) {
    list.push_back(Object{{"path", file.path},
                          {"kind", file.kind.name},
                          {"host", report::host_of(file)},
                          {"status", file.status},
                          {"passed", file.verdict.passed},
                          {"measurements", static_cast<std::uint64_t>(file.measured.size())}});
  }
  return list;
}

}  // namespace

std::vector<std::string> excluded_hosts(const report::Merge& merge) {
  std::set<std::string> hosts;
  const auto add = [&hosts](const report::ReportFile& file) {
    const Value& name = report::member(report::member(file.head, "host"), "name");
    // What is no name must not become an option or another host of the command it is pasted into.
    if (is_host_name(report::text_of(name))) hosts.insert(report::text_of(name));
  };
  for (const report::MergedGroup& group : merge.groups) {
    for (const report::MergedMember& member : group.members) {
      if (member.is_slow) add(*member.file);
    }
  }
  for (const report::MergedMember& member : merge.failures) add(*member.file);
  for (const report::ReportFile* run : failed_runs(merge)) add(*run);
  return {hosts.begin(), hosts.end()};
}

std::string exclude_list(const report::Merge& merge) {
  return fmt::format("{}", fmt::join(excluded_hosts(merge), ","));
}

int finish_merge_document(Object& document, const Environment& environment,
                          const report::Merge& merge) {
  const std::vector<FailureEntry> entries = failure_entries(merge);
  std::vector<report::Failure> failures;
  for (const FailureEntry& entry : entries) failures.push_back(entry.failure);
  const std::optional<Error> error = unreadable_error(merge);
  if (error) print_error(environment.console, *error);
  const int exit_code = finish_document(document, environment, error ? &*error : nullptr, failures);
  Array list;
  for (const FailureEntry& entry : entries) {
    Object fields{{"what", entry.failure.what},
                  {"expected", entry.failure.expected},
                  {"got", entry.failure.got}};
    fields.insert(fields.end(), entry.fields.begin(), entry.fields.end());
    list.push_back(std::move(fields));
  }
  for (auto& [name, value] : document) {
    if (name == "failures") value = list;
  }
  return exit_code;
}

ReportPair make_merge_reports(Object document, const report::Merge& merge) {
  Array stragglers;
  Array groups;
  for (const report::MergedGroup& group : merge.groups) {
    groups.push_back(group_value(group));
    for (const report::MergedMember& member : group.members) {
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
  Array skipped;
  for (const report::SkippedFile& file : merge.skipped) {
    skipped.push_back(Object{{"path", file.path}, {"reason", file.reason}});
  }
  const std::vector<std::string> hosts = excluded_hosts(merge);
  document.emplace_back("action", "merge");
  document.emplace_back("hosts", static_cast<std::uint64_t>(count_hosts(merge)));
  document.emplace_back("files", files_value(merge));
  document.emplace_back("skipped_files", std::move(skipped));
  document.emplace_back("groups", std::move(groups));
  document.emplace_back("stragglers", std::move(stragglers));
  document.emplace_back("blamed", std::move(blamed));
  document.emplace_back("exclude_hosts", Array(hosts.begin(), hosts.end()));
  ReportPair reports;
  reports.for_programs.document = std::move(document);
  reports.for_programs.verdict = {verdict(merge)};
  reports.for_programs.notes = notes(merge);
  reports.for_people = reports.for_programs;
  reports.for_people.tables = {people_stragglers(merge), people_groups(merge)};
  reports.for_programs.tables = {merge_table(merge)};
  return reports;
}

}  // namespace hiptool::cli
