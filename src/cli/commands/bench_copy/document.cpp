// SPDX-License-Identifier: MIT
#include "cli/commands/bench_copy/document.hpp"

#include "cli/document.hpp"
#include "measure/peak.hpp"
#include "report/compare.hpp"

namespace hiptool::cli {
namespace {

using measure::CopyKind;
using measure::CopyResult;
using report::Array;
using report::Object;
using report::Value;

Array numbers(const std::vector<double>& values) { return {values.begin(), values.end()}; }

template <class Texts>
Array texts(const Texts& values) {
  return {values.begin(), values.end()};
}

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

Value wrong_value(const CopyResult& result) {
  if (!result.wrong) return {};
  return Object{{"first_bad_index", result.wrong->first_index},
                {"xor_bits", result.wrong->xor_bits},
                {"count", result.wrong->count}};
}

Value error_value(const CopyResult& result) {
  if (!result.error) return {};
  const Error& error = *result.error;
  Value native;
  if (error.native()) {
    native = Object{{"platform", error.native()->platform},
                    {"code", error.native()->code},
                    {"name", error.native()->name}};
  }
  return Object{{"code", to_string(error.code())},
                {"message", error.what()},
                {"hint", text_or_absent(error.hint())},
                {"native", native}};
}

// Without a measurement all of them are absent.
void add_rates(const CopyResult& result, Object& spec) {
  using Rate = std::optional<double>;
  Rate median, least, most, p05, p95, traffic, wall, cv, latency;
  const base::Summary& summary = result.summary;
  if (!result.samples_s.empty()) cv = summary.variation;
  if (!result.samples_s.empty() && result.spec.is_latency) latency = summary.median;
  if (result.has_rate()) {
    median = result.rate_of(summary.median);
    least = result.rate_of(summary.max);  // the longest time is the lowest rate
    most = result.rate_of(summary.min);
    p05 = result.rate_of(summary.p95);
    p95 = result.rate_of(summary.p05);
    if (result.spec.kind == CopyKind::d2d) traffic = 2 * *median;
    if (result.wall_s) wall = result.rate_of(*result.wall_s);
  }
  spec.emplace_back("median_bytes_per_s", median);
  spec.emplace_back("min_bytes_per_s", least);
  spec.emplace_back("max_bytes_per_s", most);
  spec.emplace_back("p05_bytes_per_s", p05);
  spec.emplace_back("p95_bytes_per_s", p95);
  spec.emplace_back("cv", cv);
  spec.emplace_back("latency_s", latency);
  spec.emplace_back("traffic_bytes_per_s", traffic);
  spec.emplace_back("wall_bytes_per_s", wall);
}

void add_limit(const CopyResult& result, Object& spec) {
  std::optional<double> rate;
  std::optional<std::string> source;
  if (result.limit) {
    rate = result.limit->bytes_per_s;
    source = std::string(result.limit->source);
  }
  spec.emplace_back("limit_bytes_per_s", rate);
  spec.emplace_back("limit_source", source);
  const measure::Share share = result.share();
  spec.emplace_back("share_of_limit", share.value);
  spec.emplace_back("share_reason", text_or_absent(result.has_rate() ? share.missing : ""));
}

// How it was timed, and what speaks against the figure.
void add_doubts(const CopyResult& result, Object& spec) {
  std::optional<std::uint64_t> copies;
  std::optional<bool> gated, expired, serialised, disagree;
  if (!result.samples_s.empty()) {
    copies = result.copies_per_sample;
    gated = result.is_gated;
    expired = result.has_gate_expired;
    serialised = result.is_serialised;
    disagree = result.clocks_disagree;
  }
  spec.emplace_back("copies_per_sample", copies);
  spec.emplace_back("gated", gated);
  spec.emplace_back("gate_expired", expired);
  spec.emplace_back("serialised", serialised);
  spec.emplace_back("clocks_disagree", disagree);
}

Value memory_value(const measure::CopySpec& spec) {
  if (!spec.memory) return {};
  return to_string(*spec.memory);
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
  return texts(*sensors.throttle_reasons);
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

Value device_value(const measure::WatchedDevice& context) {
  const auto at_best =
      context.before.link ? context.before.link->bytes_per_s_at_best() : std::optional<double>();
  std::optional<double> peak;
  std::optional<std::string> peak_source;
  if (const auto found = measure::memory_peak(context.device.platform(), context.info)) {
    peak = found->bytes_per_s;
    peak_source = std::string(found->source);
  }
  return Object{
      {"id", context.device.id()},
      {"name", text_or_absent(context.info.name)},
      {"arch", text_or_absent(context.info.arch)},
      {"uuid", context.info.uuid},
      {"pci_bus_id", context.info.pci_bus_id},
      {"numa_node", context.numa_node},
      {"driver", text_or_absent(context.driver)},
      {"runtime", text_or_absent(context.runtime)},
      {"link_max_bytes_per_s", at_best},
      {"memory_peak_bytes_per_s", peak},
      {"memory_peak_source", peak_source},
      {"sensors", text_or_absent(context.sensors_source)},
      {"sensors_reason", text_or_absent(context.sensors_missing)},
      {"before", state_value(context.before)},
      {"during", state_value(context.during)},
      {"after", state_value(context.after)},
  };
}

Value context_value(const BenchCopyOutcome& outcome) {
  Array devices;
  for (const measure::WatchedDevice& context : outcome.contexts) {
    devices.push_back(device_value(context));
  }
  Object variables;
  for (const auto& [name, value] : outcome.variables) variables.emplace_back(name, value);
  return Object{{"devices", std::move(devices)}, {"variables", std::move(variables)}};
}

Value thresholds_value(const BenchCopyOutcome& outcome) {
  Array array;
  for (const measure::Judgement& judgement : outcome.judgements) {
    array.emplace_back(Object{{"threshold", judgement.threshold},
                              {"cell", judgement.spec},
                              {"least_bytes_per_s", judgement.least_bytes_per_s},
                              {"measured_bytes_per_s", judgement.measured_bytes_per_s},
                              {"met", std::uint64_t{judgement.met}},
                              {"measured", std::uint64_t{judgement.measured}},
                              {"is_met", judgement.is_met}});
  }
  return array;
}

Value comparisons_value(const BenchCopyOutcome& outcome) {
  Array array;
  if (!outcome.baseline) return array;
  for (const BaselineComparison& compared : outcome.baseline->comparisons) {
    array.emplace_back(Object{{"id", compared.id},
                              {"verdict", report::to_string(compared.comparison.verdict)},
                              {"change", compared.comparison.change},
                              {"low", compared.comparison.interval.low},
                              {"high", compared.comparison.interval.high},
                              {"reason", text_or_absent(compared.doubt)}});
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

Object cell_value(const CopyResult& result) {
  const measure::CopySpec& spec = result.spec;
  Object value;
  const auto add = [&](const char* name, Value field) {
    value.emplace_back(name, std::move(field));
  };
  add("id", measure::id_of(spec));
  add("kind", to_string(spec.kind));
  add("memory", memory_value(spec));
  add("engine", to_string(spec.engine));
  add("source", text_or_absent(measure::source_of(spec)));
  add("destination", text_or_absent(measure::destination_of(spec)));
  add("node", spec.node);
  add("reads", reads_value(spec));
  add("size_bytes", spec.size_bytes);
  add("status", to_string(result.status));
  add("reason", text_or_absent(result.reason));
  add("samples_s", numbers(result.samples_s));
  add_rates(result, value);
  add("overlap", result.overlap);
  add("lanes", tracks_value(result));
  add_limit(result, value);
  add_doubts(result, value);
  add("wrong", wrong_value(result));
  add("error", error_value(result));
  return value;
}

void add_bench_copy_fields(const BenchCopyOutcome& outcome, Object& document) {
  Array specs;
  for (const CopyResult& result : outcome.results) specs.emplace_back(cell_value(result));
  document.emplace_back("cells", std::move(specs));
  document.emplace_back("context", context_value(outcome));
  document.emplace_back("thresholds", thresholds_value(outcome));
  document.emplace_back("baseline", comparisons_value(outcome));
  document.emplace_back("baseline_missing", missing_value(outcome));
  document.emplace_back("wall_time_s", outcome.wall_time_s);
}

}  // namespace hiptool::cli
