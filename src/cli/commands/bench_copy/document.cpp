// SPDX-License-Identifier: MIT
#include "cli/commands/bench_copy/outcome.hpp"

#include "cli/document.hpp"
#include "measure/peak.hpp"

namespace hiptool::cli {
namespace {

using measure::CopyKind;
using measure::CopyResult;
using report::Array;
using report::Object;
using report::Value;

Value tracks_value(const CopyResult& result) {
  if (result.tracks.empty()) return {};
  Array tracks;
  for (const measure::TrackRate& track : result.tracks) {
    tracks.emplace_back(Object{{"source", track.source},
                               {"destination", track.destination},
                               {"median_bytes_per_s", track.bytes_per_s}});
  }
  return tracks;
}

Value wrong_copy_value(const CopyResult& result) {
  if (!result.wrong) return {};
  return Object{{"first_bad_index", result.wrong->first_index},
                {"xor_bits", result.wrong->xor_bits},
                {"count", result.wrong->count}};
}

// Without a measurement all of them are absent.
void add_rates(const CopyResult& result, Object& fields) {
  std::optional<double> least, most, traffic, wall, cv, latency;
  if (!result.samples_s.empty()) cv = result.summary.variation;
  if (result.spec.is_latency) latency = result.median_s;
  if (result.has_rate()) {
    least = result.rate_of(result.summary.max);  // the longest time is the lowest rate
    most = result.rate_of(result.summary.min);
    if (result.spec.kind == CopyKind::d2d) traffic = 2 * *result.bytes_per_s;
    if (result.wall_s) wall = result.rate_of(*result.wall_s);
  }
  fields.emplace_back("median_bytes_per_s", result.bytes_per_s);
  fields.emplace_back("min_bytes_per_s", least);
  fields.emplace_back("max_bytes_per_s", most);
  fields.emplace_back("p05_bytes_per_s", result.low_bytes_per_s);
  fields.emplace_back("p95_bytes_per_s", result.high_bytes_per_s);
  fields.emplace_back("cv", cv);
  fields.emplace_back("latency_s", latency);
  fields.emplace_back("traffic_bytes_per_s", traffic);
  fields.emplace_back("wall_bytes_per_s", wall);
}

void add_limit(const CopyResult& result, Object& fields) {
  fields.emplace_back("limit_bytes_per_s",
                      result.limit ? Value(result.limit->bytes_per_s) : Value());
  fields.emplace_back("limit_source", result.limit ? Value(result.limit->source) : Value());
  fields.emplace_back("share_of_limit", result.share_of_limit);
  fields.emplace_back("share_reason", text_or_absent(result.share_reason));
}

// How it was timed, and reasons to doubt the figure.
void add_doubts(const CopyResult& result, Object& fields) {
  std::optional<std::uint64_t> copies;
  std::optional<bool> gated, expired, serialised, disagree;
  if (!result.samples_s.empty()) {
    copies = result.copies_per_sample;
    gated = result.is_gated;
    expired = result.has_gate_expired;
    serialised = result.is_serialised;
    disagree = result.clocks_disagree;
  }
  fields.emplace_back("copies_per_sample", copies);
  fields.emplace_back("gated", gated);
  fields.emplace_back("gate_expired", expired);
  fields.emplace_back("serialised", serialised);
  fields.emplace_back("clocks_disagree", disagree);
}

Value reads_value(const measure::CopySpec& spec) {
  if (!measure::uses_peers(spec.kind)) return {};
  return spec.reads || spec.kind == CopyKind::p2p_read;
}

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
      {"name", text_or_absent(watched.info.name)},
      {"arch", text_or_absent(watched.info.arch)},
      {"uuid", watched.info.uuid},
      {"pci_bus_id", watched.info.pci_bus_id},
      {"numa_node", watched.numa_node},
      {"driver", text_or_absent(watched.driver)},
      {"runtime", text_or_absent(watched.runtime)},
      {"link_max_bytes_per_s", at_best},
      {"memory_peak_bytes_per_s", peak},
      {"memory_peak_source", limit_source},
      {"sensors", text_or_absent(watched.sensors_source)},
      {"sensors_reason", text_or_absent(watched.sensors_missing)},
      {"before", state_value(watched.before)},
      {"during", state_value(watched.during)},
      {"after", state_value(watched.after)},
  };
}

Value thresholds_value(const BenchCopyOutcome& outcome) {
  Array array;
  for (const report::ThresholdResult& one : outcome.thresholds) {
    array.emplace_back(Object{{"threshold", one.threshold},
                              {"cell", one.id},
                              {"least_bytes_per_s", one.least_bytes_per_s},
                              {"measured_bytes_per_s", one.measured_bytes_per_s},
                              {"most_s", one.most_s},
                              {"measured_s", one.measured_s},
                              {"met", std::uint64_t{one.met}},
                              {"measured", std::uint64_t{one.measured}},
                              {"is_met", one.is_met}});
  }
  return array;
}

Value comparisons_value(const BenchCopyOutcome& outcome) {
  Array array;
  if (!outcome.baseline) return array;
  for (const report::Comparison& one : outcome.baseline->comparisons) {
    array.emplace_back(Object{{"id", one.id},
                              {"verdict", report::to_string(one.times.verdict)},
                              {"change", one.times.change},
                              {"low", one.times.interval.low},
                              {"high", one.times.interval.high},
                              {"reason", text_or_absent(one.reason)}});
  }
  return array;
}

// Measurements that one of the two runs lacks.
Value missing_value(const BenchCopyOutcome& outcome) {
  Array array;
  if (!outcome.baseline) return array;
  for (const std::string& id : outcome.baseline->only_now) {
    array.emplace_back(Object{{"id", id}, {"missing_in", "baseline"}});
  }
  for (const std::string& id : outcome.baseline->only_before) {
    array.emplace_back(Object{{"id", id}, {"missing_in", "run"}});
  }
  return array;
}

}  // namespace

Value setup_value(const BenchCopyOutcome& outcome) {
  Array devices;
  for (const measure::WatchedDevice& device : outcome.devices) {
    devices.push_back(device_value(device));
  }
  Object variables;
  for (const auto& [name, value] : outcome.variables) variables.emplace_back(name, value);
  return Object{{"devices", std::move(devices)}, {"variables", std::move(variables)}};
}

Object cell_value(const CopyResult& result) {
  const measure::CopySpec& spec = result.spec;
  Object fields{{"id", result.id},
                {"kind", to_string(spec.kind)},
                {"memory", spec.memory ? Value(to_string(*spec.memory)) : Value()},
                {"engine", to_string(spec.engine)},
                {"source", text_or_absent(result.source)},
                {"destination", text_or_absent(result.destination)},
                {"node", spec.node},
                {"reads", reads_value(spec)},
                {"size_bytes", spec.size_bytes},
                {"status", to_string(result.status)},
                {"reason", text_or_absent(result.reason)},
                {"samples_s", Array(result.samples_s.begin(), result.samples_s.end())}};
  add_rates(result, fields);
  fields.emplace_back("overlap", result.overlap);
  fields.emplace_back("lanes", tracks_value(result));
  add_limit(result, fields);
  add_doubts(result, fields);
  fields.emplace_back("wrong", wrong_copy_value(result));
  fields.emplace_back("error", result.error ? Value(report::error_value(*result.error)) : Value());
  return fields;
}

void add_bench_copy_fields(const BenchCopyOutcome& outcome, Object& document) {
  Array cells;
  for (const CopyResult& result : outcome.results) cells.emplace_back(cell_value(result));
  document.emplace_back("cells", std::move(cells));
  document.emplace_back("devices_left_out",
                        Array(outcome.left_out.begin(), outcome.left_out.end()));
  document.emplace_back("context", setup_value(outcome));
  document.emplace_back("thresholds", thresholds_value(outcome));
  document.emplace_back("baseline", comparisons_value(outcome));
  document.emplace_back("baseline_missing", missing_value(outcome));
  document.emplace_back("wall_time_s", outcome.wall_time_s);
}

}  // namespace hiptool::cli
