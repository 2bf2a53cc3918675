// SPDX-License-Identifier: MIT
#include "results/devices/sensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "base/units.hpp"
#include "machine/selection.hpp"
#include "report/document.hpp"
#include "results/devices/inventory.hpp"

namespace hiptool::results {
namespace {

using hip::DeviceProcess;
using hip::SensorReading;
using machine::DeviceFacts;
using report::Unit;
using report::Value;

const SensorReading& reading_of(const DeviceFacts& device) {
  static const SensorReading none;
  return device.sensors ? *device.sensors : none;
}

Value processes_value(const SensorReading& reading) {
  if (!reading.processes) return {};
  return report::array_of(*reading.processes, [](const DeviceProcess& process) {
    return report::Object{{"pid", process.id},
                          {"name", report::text_or_absent(process.name)},
                          {"memory_bytes", process.memory_bytes}};
  });
}

Value throttle_reasons(const SensorReading& reading) {
  if (!reading.throttle_reasons) return {};
  return report::Array(reading.throttle_reasons->begin(), reading.throttle_reasons->end());
}

std::string temperature_text(const SensorReading& reading, bool unicode) {
  if (!reading.temperature_c) return {};
  return fmt::format("{:.0f} {}", *reading.temperature_c, unicode ? "°C" : "C");
}

std::string power_text(const SensorReading& reading) {
  if (!reading.power_w) return {};
  if (!reading.power_limit_w) return fmt::format("{:.0f} W", *reading.power_w);
  return fmt::format("{:.0f} of {:.0f} W", *reading.power_w, *reading.power_limit_w);
}

std::string memory_text(const DeviceFacts& device) {
  const auto& used = reading_of(device).memory_used_bytes;
  if (!used) return {};
  const std::string text = format_size(*used);
  const auto& total = device.info.memory_total_bytes;
  return total ? text + " of " + format_size(*total) : text;
}

Value process_count(const SensorReading& reading) {
  if (!reading.processes) return {};
  return std::uint64_t{reading.processes->size()};
}

}  // namespace

report::Object sensors_value(const DeviceFacts& device) {
  const SensorReading& reading = reading_of(device);
  return {{"source", report::text_or_absent(device.sensors_source)},
          {"reason", report::text_or_absent(device.sensors_missing)},
          {"temperature_c", reading.temperature_c},
          {"power_w", reading.power_w},
          {"power_limit_w", reading.power_limit_w},
          {"memory_used_bytes", reading.memory_used_bytes},
          {"busy_share", reading.busy_share},
          {"clock_hz", reading.clock_hz},
          {"memory_clock_hz", reading.memory_clock_hz},
          {"throttle", throttle_reasons(reading)},
          {"processes", processes_value(reading)}};
}

std::vector<SensorField> sensor_fields(const DeviceFacts& device) {
  const SensorReading& reading = reading_of(device);
  return {
      {{"sensors_source", "Sensors", Unit::none}, report::text_or_absent(device.sensors_source)},
      {{"temperature_c", "Temperature, C", Unit::none}, reading.temperature_c},
      {{"power_w", "Power, W", Unit::none}, reading.power_w},
      {{"power_limit_w", "Power limit, W", Unit::none}, reading.power_limit_w},
      {{"memory_used_bytes", "Memory used", Unit::size}, reading.memory_used_bytes},
      {{"busy_share", "Busy", Unit::share}, reading.busy_share},
      {{"clock_now_hz", "Clock now", Unit::frequency}, reading.clock_hz},
      {{"memory_clock_now_hz", "Memory clock now", Unit::frequency}, reading.memory_clock_hz},
      {{"processes", "Processes", Unit::count}, process_count(reading)}};
}

report::Table state_table(const std::vector<DeviceFacts>& devices, bool unicode) {
  report::Table table;
  table.title = "State";
  table.columns = {{"id", "ID", Unit::none},
                   {"pci_bus_id", "PCI bus id", Unit::none},
                   {"temperature", "Temp", Unit::none},
                   {"power", "Power", Unit::none},
                   {"memory_used_bytes", "Memory used", Unit::size},
                   {"busy_share", "Busy", Unit::share},
                   {"processes", "Processes", Unit::count}};
  for (const DeviceFacts& device : devices) {
    if (!device.sensors) continue;
    const SensorReading& reading = *device.sensors;
    table.rows.push_back({device.id, device.info.pci_bus_id,
                          report::text_or_absent(temperature_text(reading, unicode)),
                          report::text_or_absent(power_text(reading)), reading.memory_used_bytes,
                          reading.busy_share, process_count(reading)});
  }
  return table;
}

report::Table watch_table(const std::vector<DeviceFacts>& devices, bool unicode) {
  report::Table table;
  table.columns = {{"id", "ID", Unit::none},
                   {"temperature", "Temp", Unit::none},
                   {"power", "Power", Unit::none},
                   {"memory", "Memory", Unit::none},
                   {"busy_share", "Busy", Unit::share},
                   {"clock_hz", "Clock", Unit::frequency},
                   {"processes", "Processes", Unit::count}};
  for (const DeviceFacts& device : devices) {
    const SensorReading& reading = reading_of(device);
    table.rows.push_back({device.id, report::text_or_absent(temperature_text(reading, unicode)),
                          report::text_or_absent(power_text(reading)),
                          report::text_or_absent(memory_text(device)), reading.busy_share,
                          reading.clock_hz, process_count(reading)});
  }
  return table;
}

report::Table process_table(const std::vector<DeviceFacts>& devices, std::size_t most) {
  report::Table table;
  table.columns = {{"device", "Device", Unit::none},
                   {"pid", "PID", Unit::none},
                   {"name", "Process", Unit::none},
                   {"memory_bytes", "Memory", Unit::size}};
  std::size_t left_out = 0;
  for (const DeviceFacts& device : devices) {
    const auto& processes = reading_of(device).processes;
    if (!processes) continue;
    for (const DeviceProcess& process : *processes) {
      if (table.rows.size() == most) {
        ++left_out;
        continue;
      }
      table.rows.push_back(
          {device.id, process.id, report::text_or_absent(process.name), process.memory_bytes});
    }
  }
  if (left_out > 0) {
    table.rows.push_back({fmt::format("{} more", left_out), Value(), Value(), Value()});
  }
  return table;
}

std::string sensor_line(const DeviceFacts& device) {
  const SensorReading& reading = reading_of(device);
  std::vector<std::string> parts;
  const auto add = [&parts](std::string text) {
    if (!text.empty()) parts.push_back(std::move(text));
  };
  add(temperature_text(reading, false));
  add(power_text(reading));
  add(memory_text(device));
  if (reading.busy_share) add("busy " + format_share(*reading.busy_share));
  if (reading.clock_hz) add(report::format_value(reading.clock_hz, Unit::frequency, false));
  if (reading.processes) {
    const std::size_t count = reading.processes->size();
    add(fmt::format("{} {}", count, count == 1 ? "process" : "processes"));
  }
  if (reading.throttle_reasons && !reading.throttle_reasons->empty()) {
    add(fmt::format("throttled: {}", fmt::join(*reading.throttle_reasons, ", ")));
  }
  if (parts.empty()) add("no value: " + device.sensors_missing);
  return fmt::format("{}: {}", device.id, fmt::join(parts, ", "));
}

std::vector<report::Line> sensor_notes(const std::vector<DeviceFacts>& devices) {
  // A text, and the devices it is about.
  std::vector<std::pair<report::Line, std::vector<std::string>>> texts;
  const auto add = [&texts](report::Tone tone, std::string text, const std::string& id) {
    auto found = std::find_if(texts.begin(), texts.end(),
                              [&text](const auto& one) { return one.first.text == text; });
    if (found == texts.end()) found = texts.insert(found, {{tone, std::move(text)}, {}});
    found->second.push_back(id);
  };
  for (const DeviceFacts& device : devices) {
    if (!machine::is_gpu(device.platform)) continue;
    const auto& reasons = reading_of(device).throttle_reasons;
    if (!device.sensors) {
      add(report::Tone::plain, "no temperature, power or processes: " + device.sensors_missing,
          device.id);
    } else if (reasons && !reasons->empty()) {
      add(report::Tone::warning, fmt::format("clocks are throttled: {}", fmt::join(*reasons, ", ")),
          device.id);
    }
  }
  std::vector<report::Line> lines;
  for (const auto& [line, ids] : texts) {
    lines.push_back({line.tone, base::ranges_of(ids) + ": " + line.text});
  }
  return lines;
}

}  // namespace hiptool::results
