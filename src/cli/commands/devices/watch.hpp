// SPDX-License-Identifier: MIT
/// `devices --watch`.
#pragma once
#include <string>

#include "cli/command.hpp"
#include "machine/inventory.hpp"

namespace hiptool::cli {

inline constexpr double usual_watch_s = 2;

/// The seconds of `--watch SECONDS`. Throws Error(invalid_argument) with the accepted range.
double parse_watch_interval(const std::string& text);

/// Throws Error(invalid_argument) for --export and for formats of one document.
void require_lines(const Context& context);

/// Shows the sensors of the inventory's GPUs and reads them again and again: on a terminal as one
/// screen until `q` or Ctrl-C, elsewhere or with --format csv as a line for each device, written at
/// once, until a signal or until nobody reads. Returns the exit code. Throws Error(unavailable) if
/// no device has sensors.
int watch_devices(double interval_s, const machine::Inventory& inventory, Context& context);

}  // namespace hiptool::cli
