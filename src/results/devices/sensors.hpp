// SPDX-License-Identifier: MIT
/// What the sensors of devices report, for `devices` and `devices --watch`.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "machine/inventory.hpp"
#include "report/report.hpp"

namespace hiptool::results {

/// `sensors` of a device in the JSON document; without sensors all values are null, with a reason.
report::Object sensors_value(const machine::DeviceFacts& device);

/// The single values of it for CSV and for one device in full, with columns of the same names.
struct SensorField {
  report::Column column;
  report::Value value;
};
std::vector<SensorField> sensor_fields(const machine::DeviceFacts& device);

/// A row for each device with sensors, within 80 columns: "41 °C", "75.5 of 600 W".
report::Table state_table(const std::vector<machine::DeviceFacts>& devices, bool unicode);

/// The same with clocks and without bus ids, for the screen of --watch.
report::Table watch_table(const std::vector<machine::DeviceFacts>& devices, bool unicode);

/// A row for each process on a device, at most as many as given; a last row says how many more
/// there are.
report::Table process_table(const std::vector<machine::DeviceFacts>& devices, std::size_t most);

/// "nvidia:0: 41 C, 75.5 of 600 W, 2.00 GiB of 140 GiB, busy 37 %, 1.98 GHz, 2 processes";
/// values that are not reported are left out.
std::string sensor_line(const machine::DeviceFacts& device);

/// Why GPUs have no sensors, and why clocks are throttled: a line for all devices of which the same
/// is true.
std::vector<report::Line> sensor_notes(const std::vector<machine::DeviceFacts>& devices);

}  // namespace hiptool::results
