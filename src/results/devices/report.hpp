// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>

#include "machine/inventory.hpp"
#include "report/report.hpp"

namespace hiptool::results {

/// What of an inventory people see.
struct InventoryView {
  bool is_one_in_full = false;  ///< the only device, with all its properties
  bool is_verbose = false;      ///< a line for each device, caches, instruction sets, libraries
  bool has_state = true;        ///< temperatures, power and processes
  bool has_unicode = true;
  std::filesystem::path root = "/";  ///< below which the processor's properties are read
};

/// Adds the inventory to the document of `devices` and sets verdict, tables and notes.
void add_inventory(const machine::Inventory& inventory, const InventoryView& view,
                   report::Report& report);

/// The last line: devices that are listed may still fail, or compute a model wrong.
report::Line next_step();

}  // namespace hiptool::results
