// SPDX-License-Identifier: MIT
#include "cli/commands/devices/watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "cli/document.hpp"
#include "cli/exit_code.hpp"
#include "cli/output/failure.hpp"
#include "cli/output/screen_terminal.hpp"
#include "report/text.hpp"
#include "results/devices/inventory.hpp"
#include "results/devices/sensors.hpp"

namespace hiptool::cli {
namespace {

using Clock = std::chrono::steady_clock;
using machine::DeviceFacts;

constexpr double least_watch_s = 0.1;
constexpr double most_watch_s = 3600;
constexpr std::chrono::milliseconds longest_wait{100};  // also the delay of an interrupt
constexpr std::size_t most_processes = 100;

std::string time_now() { return iso_time(std::chrono::system_clock::now()); }

std::vector<DeviceFacts> with_sensors(const machine::Inventory& inventory) {
  std::vector<DeviceFacts> devices;
  std::string reasons;
  for (const DeviceFacts& device : inventory.devices) {
    if (device.sensors) {
      devices.push_back(device);
    } else {
      reasons += "\n" + device.id + ": " + device.sensors_missing;
    }
  }
  if (devices.empty()) {
    throw Error(ErrorCode::unavailable, "devices", "no device has sensors to watch" + reasons,
                "see `hiptool devices` for the usable devices and why others are not");
  }
  return devices;
}

// The screen as to_table() writes it, cut to the terminal's height; each line erases the rest of
// the one before it, so that nothing flickers.
std::string screen_of(const std::vector<DeviceFacts>& devices, double interval_s,
                      const Console& console) {
  report::Report frame;
  frame.run.passed = true;
  frame.verdict = {
      {report::Tone::plain, fmt::format("{}, every {:g} s; q quits", time_now(), interval_s)}};
  frame.tables.push_back(results::watch_table(devices, console.has_unicode()));
  report::Table processes = results::process_table(devices, most_processes);
  if (!processes.rows.empty()) frame.tables.push_back(std::move(processes));
  frame.notes = results::sensor_notes(devices);
  // Some terminals wrap a line that fills all columns.
  const std::size_t columns = std::max<std::size_t>(console.width_out(), 2) - 1;
  const std::string text =
      report::to_table(frame, {columns, console.has_color_out(), console.has_unicode()});
  const std::size_t rows = console.height_out();
  std::string screen = "\x1b[H";
  std::size_t row = 0;
  for (std::size_t start = 0; start < text.size() && row < rows; ++row) {
    const std::size_t end = text.find('\n', start);
    screen += (row == 0 ? "" : "\n") + text.substr(start, end - start) + "\x1b[K";
    if (end == std::string::npos) break;
    start = end + 1;
  }
  return screen + "\x1b[J";
}

std::string csv_head() {
  return "time,id,temperature_c,power_w,power_limit_w,memory_used_bytes,busy_share,clock_hz,"
         "processes\n";
}

std::string csv_line(const DeviceFacts& device, const std::string& time) {
  const hip::SensorReading reading = device.sensors.value_or(hip::SensorReading());
  const auto number = [](const std::optional<double>& value) {
    return value ? report::exact_text(*value) : std::string();
  };
  const std::string used =
      reading.memory_used_bytes ? std::to_string(*reading.memory_used_bytes) : "";
  const std::string processes = reading.processes ? std::to_string(reading.processes->size()) : "";
  return fmt::format("{},{},{},{},{},{},{},{},{}\n", time, device.id, number(reading.temperature_c),
                     number(reading.power_w), number(reading.power_limit_w), used,
                     number(reading.busy_share), number(reading.clock_hz), processes);
}

void write_lines(const std::vector<DeviceFacts>& devices, bool is_csv, Console& console) {
  const std::string time = time_now();
  std::string text;
  for (const DeviceFacts& device : devices) {
    text += is_csv ? csv_line(device, time)
                   : time + " " + report::printable_lines(results::sensor_line(device)) + "\n";
  }
  console.out(text);
}

// Waits until the next reading is due; false if the run shall end.
bool wait_until(Clock::time_point due, const CancelToken& cancel, ScreenTerminal* screen) {
  while (!cancel.is_cancelled()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now());
    if (left.count() <= 0) return true;
    const auto pause = std::min(left, longest_wait);
    if (screen == nullptr) {
      std::this_thread::sleep_for(pause);
      continue;
    }
    const auto key = screen->wait_for_key(pause);
    if (key == 'q' || key == 'Q') return false;
    if (ScreenTerminal::was_continued()) return true;
  }
  return false;
}

}  // namespace

double parse_watch_interval(const std::string& text) {
  const auto seconds = base::parse_number<double>(text);
  if (seconds && *seconds >= least_watch_s && *seconds <= most_watch_s) return *seconds;
  throw usage_error(fmt::format("--watch: '{}' is not a number of seconds from {} to {}", text,
                                least_watch_s, most_watch_s),
                    "write it as 2 or 0.5, or leave it out");
}

void require_lines(const Context& context) {
  const OutputFormat format = context.output.format();
  const bool is_list = format == OutputFormat::table || format == OutputFormat::csv;
  if (is_list && context.output.export_paths().empty()) return;
  throw usage_error("--watch prints until it is stopped, so it cannot write a document",
                    "use --format csv, or run `hiptool devices --format json` repeatedly");
}

int watch_devices(double interval_s, const machine::Inventory& inventory, Context& context) {
  Environment& environment = context.environment;
  Console& console = environment.console;
  machine::SensorReader sensors(environment.system_root, &environment.cancel);
  std::vector<DeviceFacts> devices = with_sensors(inventory);

  const bool is_csv = context.output.format() == OutputFormat::csv;
  std::optional<ScreenTerminal> screen;
  if (!is_csv && console.can_draw_out()) screen.emplace();
  if (is_csv) console.out(csv_head());
  const auto interval =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(interval_s));
  for (auto due = Clock::now();; due = std::max(due + interval, Clock::now())) {
    if (screen) {
      console.out(screen_of(devices, interval_s, console));
    } else {
      write_lines(devices, is_csv, console);
    }
    if (!console.can_write_out()) break;
    if (!wait_until(due + interval, environment.cancel, screen ? &*screen : nullptr)) break;
    for (DeviceFacts& device : devices) sensors.read(device);
    if (environment.cancel.is_cancelled()) break;  // some readings may have been cut short
  }
  screen.reset();
  if (!environment.cancel.is_cancelled()) return exit_done;
  return exit_code_of(ErrorCode::cancelled, environment.signal());
}

}  // namespace hiptool::cli
