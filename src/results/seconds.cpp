// SPDX-License-Identifier: MIT
#include "results/seconds.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/contains.hpp"
#include "base/units.hpp"

namespace hiptool::results {
namespace {

using report::Measurement;
using report::Table;

std::vector<const Measurement*> with_seconds(const std::vector<Measurement>& measurements) {
  std::vector<const Measurement*> found;
  for (const Measurement& measured : measurements) {
    if (!report::member(measured.details, "interval_s").is_absent()) found.push_back(&measured);
  }
  return found;
}

Table empty_table(std::string title, std::vector<report::Column> first) {
  Table table;
  table.title = std::move(title);
  table.columns = std::move(first);
  for (const report::Column& column :
       {report::Column{"least_per_s", "Least"}, report::Column{"median_per_s", "Median"},
        report::Column{"most_per_s", "Most"}, report::Column{"deviation_per_s", "Deviation"},
        report::Column{"measurement_status", "Result"}}) {
    table.columns.push_back(column);
  }
  return table;
}

void add_row(const Measurement& measured, std::vector<report::Value> row, bool has_units,
             Table& table) {
  for (const char* key : {"least_per_s", "median_per_s", "most_per_s", "deviation_per_s"}) {
    const std::optional<double> per_s = report::number_of(report::member(measured.details, key));
    if (!per_s || !has_units) {
      row.emplace_back(per_s);
    } else {
      row.push_back(measured.bytes_per_s
                        ? report::Value(format_rate(*per_s))
                        : report::Value(report::format_value(*per_s, report::Unit::operations)));
    }
  }
  const bool is_wrong = measured.status == report::Status::mismatch;
  row.emplace_back(is_wrong ? "WRONG" : "right");
  table.rows.push_back(std::move(row));
  auto& tones = table.tones.emplace_back(table.columns.size(), report::Tone::plain);
  if (is_wrong) tones.back() = report::Tone::bad;
}

}  // namespace

// The name of a measurement next to a device is too wide for 80 columns.
std::vector<Table> seconds_tables(const std::vector<Measurement>& measurements) {
  const std::vector<const Measurement*> found = with_seconds(measurements);
  std::vector<std::string> devices;
  for (const Measurement* measured : found) base::add_once(devices, measured->destination);
  const bool has_one_device = devices.size() == 1;
  std::vector<Table> tables;
  for (const Measurement* measured : found) {
    const std::string title =
        "rates of each second" +
        (has_one_device ? " on " + measured->destination : ": " + measured->label);
    auto table = std::find_if(tables.begin(), tables.end(),
                              [&title](const Table& one) { return one.title == title; });
    if (table == tables.end()) {
      const report::Column first = has_one_device ? report::Column{"measurement", "Measurement"}
                                                  : report::Column{"device", "Device"};
      table = tables.insert(tables.end(), empty_table(title, {first}));
    }
    add_row(*measured, {has_one_device ? measured->label : measured->destination}, true, *table);
  }
  return tables;
}

std::optional<Table> seconds_csv(const std::vector<Measurement>& measurements) {
  const std::vector<const Measurement*> found = with_seconds(measurements);
  if (found.empty()) return {};
  Table table =
      empty_table("rates of each second", {{"measurement", "Measurement"}, {"device", "Device"}});
  for (const Measurement* measured : found) {
    add_row(*measured, {measured->label, measured->destination}, false, table);
  }
  return table;
}

}  // namespace hiptool::results
