// SPDX-License-Identifier: MIT
#include <utility>

#include "cli/commands/report/merge_texts.hpp"
#include "cli/commands/report/report.hpp"
#include "cli/document.hpp"
#include "report/document.hpp"

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

Object finding_value(const SharedFinding& finding) {
  const Failure& failure = finding.failure;
  return {{"what", failure.what},
          {"code", report::text_or_absent(failure.code)},
          {"device", report::text_or_absent(failure.subject.device)},
          {"stage", report::text_or_absent(failure.subject.stage)},
          {"measurement", report::text_or_absent(failure.subject.measurement)},
          {"hosts", Array(finding.hosts.begin(), finding.hosts.end())},
          {"is_on_all", finding.is_on_all},
          {"reason", report::text_or_absent(failure.reason)},
          {"action", report::text_or_absent(failure.action)}};
}

Object trend_value(const Trend& trend) {
  return {{"host", trend.host},   {"measurement", trend.id},    {"unit", trend.unit},
          {"runs", trend.runs},   {"first_at", trend.first_at}, {"last_at", trend.last_at},
          {"usual", trend.usual}, {"last", trend.last},         {"change", trend.change}};
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
  document.emplace_back("groups", merged_group_fields().objects(merge.groups));
  document.emplace_back("stragglers", std::move(stragglers));
  document.emplace_back("blamed", std::move(blamed));
  document.emplace_back("shared_findings", array_of(merge.shared_findings(), finding_value));
  document.emplace_back("trends", array_of(merge.trends(), trend_value));
  document.emplace_back("exclude_hosts", Array(hosts.begin(), hosts.end()));
  report.verdict = merge_verdict(merge);
  report.notes = merge_notes(merge);
  report.tables = merge_tables(merge);
  report.csv_tables = {full_table(merge)};
  return report;
}

}  // namespace hiptool::cli
