// SPDX-License-Identifier: MIT
#include "cli/commands/report/merge_table.hpp"

#include "cli/document.hpp"
#include "report/tree.hpp"

namespace hiptool::cli {
namespace {

using report::Value;
using MergedRow = std::vector<Value>;

// The first columns, which every row has.
MergedRow start_of_row(const report::MergedMember& member) {
  const report::Measurement& measured = *member.measured;
  const bool is_of_one = measured.devices.size() == 1;
  const report::DeviceTexts& device =
      report::texts_of(member.file->devices, is_of_one ? measured.devices.front() : "");
  return {report::host_of(*member.file),
          member.file->path,
          measured.id,
          measured.label,
          text_or_absent(measured.source),
          text_or_absent(measured.destination),
          text_or_absent(device.pci_bus_id),
          text_or_absent(device.uuid),
          measured.status,
          text_or_absent(measured.reason)};
}

}  // namespace

report::Table merge_table(const report::Merge& merge) {
  report::Table table;
  for (const char* key : {"host", "file", "cell", "label", "source", "destination", "pci_bus_id",
                          "uuid", "status", "reason", "device_name", "members", "unit", "value",
                          "median", "deviation", "z", "straggler"}) {
    table.columns.push_back({key, key, report::Unit::none});
  }
  for (const report::MergedGroup& group : merge.groups) {
    for (const report::MergedMember& member : group.members) {
      MergedRow row = start_of_row(member);
      const Value straggler = !member.is_straggler ? Value() : member.is_slow ? "slow" : "fast";
      for (const Value& value : {text_or_absent(group.device_name),
                                 Value(static_cast<std::uint64_t>(group.members.size())),
                                 Value(group.unit), Value(member.value), Value(group.median),
                                 Value(member.deviation), Value(member.z), straggler}) {
        row.push_back(value);
      }
      table.rows.push_back(std::move(row));
    }
  }
  for (const report::MergedMember& member : merge.failures)
    table.rows.push_back(start_of_row(member));
  for (const report::ReportFile& run : merge.failed_runs) {
    const Value& message = report::member(report::member(run.head, "error"), "message");
    table.rows.push_back(
        {report::host_of(run), run.path, {}, {}, {}, {}, {}, {}, run.status, message});
  }
  return table;
}

}  // namespace hiptool::cli
