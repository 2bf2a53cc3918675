// SPDX-License-Identifier: MIT
#include "results/bench_copy/outcome.hpp"

#include "measure/peak.hpp"
#include "report/document.hpp"

namespace hiptool::results {
namespace {

using report::Array;
using report::Object;
using report::Value;

Value link_value(const std::optional<system::PciPath>& path) {
  const system::PciPath::Hop* hop = path ? path->slowest_now() : nullptr;
  if (hop == nullptr) return {};
  return Object{{"speed_gt_s", hop->link.speed_gt_s},
                {"width", hop->link.width},
                {"bytes_per_s", path->bytes_per_s_now()},
                {"bus_id", hop->bus_id}};
}

Value throttle_value(const hip::SensorReading& sensors) {
  if (!sensors.throttle_reasons) return {};
  return Array(sensors.throttle_reasons->begin(), sensors.throttle_reasons->end());
}

Value state_value(const measure::DeviceState& state) {
  const hip::SensorReading& sensors = state.sensors;
  return Object{{"link", link_value(state.link)},
                {"clocks", Object{{"clock_hz", sensors.clock_hz},
                                  {"memory_clock_hz", sensors.memory_clock_hz}}},
                {"temperature_c", sensors.temperature_c},
                {"power_w", sensors.power_w},
                {"throttle", throttle_value(sensors)}};
}

Value device_value(const measure::WatchedDevice& watched) {
  const auto at_best =
      watched.before.link ? watched.before.link->bytes_per_s_at_best() : std::optional<double>();
  std::optional<double> peak;
  std::optional<std::string> limit_source;
  if (const auto found = measure::memory_peak(watched.device.platform(), watched.info)) {
    peak = found->bytes_per_s;
    limit_source = std::string(found->source);
  }
  return Object{
      {"id", watched.device.id()},
      {"name", report::text_or_absent(watched.info.name)},
      {"arch", report::text_or_absent(watched.info.arch)},
      {"uuid", watched.info.uuid},
      {"pci_bus_id", watched.info.pci_bus_id},
      {"numa_node", watched.numa_node},
      {"driver", report::text_or_absent(watched.driver)},
      {"runtime", report::text_or_absent(watched.runtime)},
      {"link_max_bytes_per_s", at_best},
      {"memory_peak_bytes_per_s", peak},
      {"memory_peak_source", limit_source},
      {"sensors", report::text_or_absent(watched.sensors_source)},
      {"sensors_reason", report::text_or_absent(watched.sensors_missing)},
      {"before", state_value(watched.before)},
      {"during", state_value(watched.during)},
      {"after", state_value(watched.after)},
  };
}

}  // namespace

Value setup_value(const BenchCopyOutcome& outcome) {
  Object variables;
  for (const auto& [name, value] : outcome.variables) variables.emplace_back(name, value);
  return Object{{"devices", report::array_of(outcome.devices, device_value)},
                {"variables", std::move(variables)}};
}

void add_bench_copy_fields(const BenchCopyOutcome& outcome, Object& document) {
  document.emplace_back("devices_left_out",
                        Array(outcome.left_out.begin(), outcome.left_out.end()));
  document.emplace_back("context", setup_value(outcome));
  document.emplace_back("baseline_missing", outcome.baseline
                                                ? report::missing_value(outcome.baseline->compared)
                                                : Array());
  document.emplace_back("wall_time_s", outcome.wall_time_s);
}

}  // namespace hiptool::results
