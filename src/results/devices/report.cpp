// SPDX-License-Identifier: MIT
#include "results/devices/report.hpp"

#include <utility>

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

}  // namespace

void add_inventory(const machine::Inventory& inventory, const InventoryView& view,
                   report::Report& report) {
  report.document.emplace_back("platforms", platforms_value(inventory));
  report.document.emplace_back("devices", devices_value(inventory));
  report.notes = platform_lines(inventory, view.is_verbose);
  report.csv_tables = {full_table(inventory)};
  if (view.is_one_in_full) {
    report.verdict = {one_device_verdict(inventory.devices.front())};
    report.tables = *report.csv_tables;
  } else {
    report.verdict = {inventory_verdict(inventory)};
    report.tables = {short_table(inventory, view.has_unicode, !view.is_verbose)};
  }
  if (view.is_verbose) report.tables.push_back(cache_table(inventory, view.root));
  if (view.has_state) add_state(inventory, view, report);
}

report::Line next_step() {
  return {report::Tone::plain,
          "To test this machine: hiptool check; with a model: hiptool prove MODEL"};
}

}  // namespace hiptool::results
