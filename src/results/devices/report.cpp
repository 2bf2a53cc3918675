// SPDX-License-Identifier: MIT
#include "results/devices/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>
#include <vector>

#include "report/document.hpp"
#include "results/devices/inventory.hpp"
#include "results/devices/sensors.hpp"

namespace hiptool::results {
namespace {

// Temperature, power and processes of those with sensors, below the list.
void add_state(const machine::Inventory& inventory, const InventoryView& view,
               report::Report& report) {
  constexpr std::size_t most_processes = 20;
  report::Table state = state_table(inventory.devices, view.has_unicode);
  if (!view.is_one_in_full && !state.rows.empty()) report.tables.push_back(std::move(state));
  report::Table processes = process_table(inventory.devices, most_processes);
  if (!processes.rows.empty()) report.tables.push_back(std::move(processes));
  for (report::Line& line : sensor_notes(inventory.devices)) {
    report.notes.push_back(std::move(line));
  }
}

// What a device does not report is one line, not a row for each.
void add_one_device(report::Table table, report::Report& report) {
  std::vector<std::string> missing;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    if (table.at(0, column).is_absent()) missing.push_back(table.columns[column].title);
  }
  report::remove_empty_columns(table);
  report.tables = {std::move(table)};
  if (missing.empty()) return;
  report.notes.push_back(
      {report::Tone::plain, fmt::format("not reported: {}", fmt::join(missing, "; "))});
}

}  // namespace

void add_inventory(const machine::Inventory& inventory, const InventoryView& view,
                   report::Report& report) {
  report.document.emplace_back("platforms", platforms_value(inventory));
  report.document.emplace_back("devices", devices_value(inventory));
  report.notes = platform_lines(inventory, view.is_verbose);
  report.csv_tables = {full_table(inventory)};
  if (view.is_one_in_full) {
    report.verdict = {one_device_verdict(inventory.devices.front())};
    add_one_device(report.csv_tables->front(), report);
  } else {
    report.verdict = {inventory_verdict(inventory)};
    report.tables = {short_table(inventory, !view.is_verbose)};
  }
  if (view.is_verbose) report.tables.push_back(cache_table(inventory, view.root));
  if (view.has_state) add_state(inventory, view, report);
}

report::Line next_step() {
  return {report::Tone::plain,
          "To test this machine: hiptool check; with a model: hiptool prove MODEL"};
}

}  // namespace hiptool::results
