// SPDX-License-Identifier: MIT
#include "measure/copy/bench.hpp"

namespace hiptool::measure {
namespace {

report::Value copies_value(const CopyResult& result) {
  if (result.tracks.empty()) return {};
  report::Array copies;
  for (const TrackRate& track : result.tracks) {
    copies.emplace_back(report::Object{{"source", track.source},
                                       {"destination", track.destination},
                                       {"bytes_per_s", track.bytes_per_s}});
  }
  return copies;
}

// Without samples all of them are absent.
void add_copy_rates(const CopyResult& result, report::Object& fields) {
  std::optional<double> least, most, traffic, wall, cv, latency;
  if (!result.samples_s.empty()) cv = result.summary.variation;
  if (result.spec.is_latency) latency = result.median_s;
  if (result.has_rate()) {
    least = result.rate_of(result.summary.max);  // the longest time is the lowest rate
    most = result.rate_of(result.summary.min);
    if (result.spec.kind == CopyKind::d2d) traffic = 2 * *result.bytes_per_s;
    if (result.wall_s) wall = result.rate_of(*result.wall_s);
  }
  fields.emplace_back("min_bytes_per_s", least);
  fields.emplace_back("max_bytes_per_s", most);
  fields.emplace_back("cv", cv);
  fields.emplace_back("latency_s", latency);
  fields.emplace_back("traffic_bytes_per_s", traffic);
  fields.emplace_back("wall_bytes_per_s", wall);
}

// How it was timed, and reasons to doubt the figure.
void add_doubts(const CopyResult& result, report::Object& fields) {
  const auto if_timed = [&](auto value) {
    return result.samples_s.empty() ? report::Value() : report::Value(value);
  };
  fields.emplace_back("copies_per_sample", if_timed(std::uint64_t{result.copies_per_sample}));
  fields.emplace_back("gated", if_timed(result.is_gated));
  fields.emplace_back("gate_expired", if_timed(result.has_gate_expired));
  fields.emplace_back("serialised", if_timed(result.is_serialised));
  fields.emplace_back("clocks_disagree", if_timed(result.clocks_disagree));
}

report::Value reads_value(const CopySpec& spec) {
  if (!uses_peers(spec.kind)) return {};
  return spec.reads || spec.kind == CopyKind::p2p_read;
}

}  // namespace

report::Measurement measurement_of(const CopyResult& result) {
  report::Measurement measured = result;
  const CopySpec& spec = result.spec;
  if (result.limit) {
    measured.limit_bytes_per_s = result.limit->bytes_per_s;
    measured.limit_source = result.limit->source;
  }
  measured.details = {
      {"memory", spec.memory ? report::Value(to_string(*spec.memory)) : report::Value()},
      {"engine", to_string(spec.engine)},
      {"node", spec.node},
      {"reads", reads_value(spec)}};
  add_copy_rates(result, measured.details);
  measured.details.emplace_back("overlap", result.overlap);
  measured.details.emplace_back("copies", copies_value(result));
  add_doubts(result, measured.details);
  return measured;
}

}  // namespace hiptool::measure
