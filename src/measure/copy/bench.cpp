// SPDX-License-Identifier: MIT
#include "measure/copy/bench.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/units.hpp"
#include "hiptool/error.hpp"
#include "measure/copy/chase.hpp"
#include "measure/copy/xgmi.hpp"
#include "measure/peak.hpp"
#include "system/pci.hpp"

namespace hiptool::measure {
namespace {

constexpr double clocks_agree_within = 0.05;
// The host notices the end this much later, whatever the size of the copy.
constexpr double wake_up_s = 50e-6;
constexpr double least_overlap = 0.2;
constexpr double serialised_wall = 1.5;  // times the span

double median_of(const std::vector<CopySample>& samples, double (*value)(const CopySample&)) {
  std::vector<double> values;
  for (const CopySample& sample : samples) values.push_back(value(sample));
  return base::median(values);
}

// 0: the tracks took turns, 1: none waited for another.
std::optional<double> overlap_of(const CopySample& sample) {
  if (sample.tracks_s.size() < 2) return {};
  double sum = 0;
  double most = 0;
  for (const double track : sample.tracks_s) {
    sum += track;
    most = std::max(most, track);
  }
  if (!(sum > most)) return {};
  return std::clamp((sum - sample.span_s) / (sum - most), 0.0, 1.0);
}

void add_tracks(const std::vector<CopySample>& samples, CopyResult& result) {
  const std::vector<CopyRoute> routes = routes_of(result.spec);
  if (routes.size() < 2) return;
  std::vector<double> overlaps;
  for (const CopySample& sample : samples) {
    if (const auto overlap = overlap_of(sample)) overlaps.push_back(*overlap);
  }
  const bool has_span = result.spec.beside == Beside::nothing && !result.spec.sums_copies;
  if (!overlaps.empty() && has_span) result.overlap = base::median(overlaps);
  for (std::size_t i = 0; i < routes.size(); ++i) {
    std::vector<double> times;
    for (const CopySample& sample : samples) times.push_back(sample.tracks_s[i]);
    const auto name = [](const std::optional<Device>& device) {
      return device ? device->id() : std::string("host");
    };
    result.tracks.push_back({name(routes[i].source), name(routes[i].destination),
                             static_cast<double>(result.spec.bytes_of(i)) / base::median(times)});
  }
}

void add_samples(const std::vector<CopySample>& samples, CopyResult& result) {
  for (const CopySample& sample : samples) result.samples_s.push_back(sample.span_s);
  const std::size_t tracks = routes_of(result.spec).size();
  const bool is_beside = result.spec.beside != Beside::nothing;
  result.bytes = is_beside ? result.spec.bytes_of(0) : tracks * result.spec.size_bytes;
  result.summarize();
  result.is_gated = !samples.empty() && samples.back().is_gated;
  if (result.spec.is_latency || samples.empty()) return;
  const double wall = median_of(samples, [](const CopySample& sample) { return sample.wall_s; });
  const double span = result.summary.median;
  add_tracks(samples, result);
  // What ends later, or is a mean of rates, has no time by the host's clock.
  if (is_beside || result.spec.sums_copies) return;
  result.wall_s = wall;
  const double allowed = std::max(clocks_agree_within * span,
                                  wake_up_s / static_cast<double>(result.copies_per_sample));
  result.clocks_disagree = std::abs(wall - span) > allowed;
  result.is_serialised = tracks > 1 && (result.overlap.value_or(1) < least_overlap ||
                                        (wall > serialised_wall * span && result.clocks_disagree));
}

std::vector<std::string> bus_ids_of(const CopySpec& spec) {
  std::vector<std::string> bus_ids;
  for (const Device& device : spec.devices) {
    std::string bus_id = system::normalize_bus_id(device.info().pci_bus_id.value_or(""));
    if (!bus_id.empty()) bus_ids.push_back(std::move(bus_id));
  }
  return bus_ids;
}

void add_wrong(const WrongWords& words, std::optional<report::WrongData>& wrong) {
  if (words.count == 0) return;
  if (!wrong) wrong.emplace().first_index = words.first_index;
  wrong->count += words.count;
  wrong->xor_bits |= words.xor_bits;
}

std::string bus_id_of(const Device& device) {
  return system::normalize_bus_id(device.info().pci_bus_id.value_or(""));
}

const machine::LinkObservation* find_link(const std::vector<machine::LinkObservation>& links,
                                          const Device& device) {
  const std::string bus_id = bus_id_of(device);
  const auto found = std::ranges::find_if(links, [&](const machine::LinkObservation& link) {
    return !bus_id.empty() && link.bus_id == bus_id;
  });
  return found != links.end() && found->fastest_bytes_per_s ? &*found : nullptr;
}

double rate_of(const system::PciPath::Hop& hop) {
  if (!hop.link.speed_gt_s || !hop.link.width) return 0;
  return system::pcie_bytes_per_s(*hop.link.speed_gt_s, *hop.link.width);
}

// Sum of all links in one direction; devices below one root port share its link.
std::optional<double> links_bytes_per_s(const std::vector<Device>& devices,
                                        const std::vector<machine::LinkObservation>& links) {
  struct Port {
    double sum = 0;
    double most = 0;  // 0: unknown
  };
  std::map<std::string, Port> ports;
  for (const Device& device : devices) {
    const machine::LinkObservation* link = find_link(links, device);
    if (link == nullptr) return {};
    const system::PciPath::Hop& root = link->fastest->hops.back();
    Port& port = ports[root.bus_id];
    port.sum += *link->fastest_bytes_per_s;
    port.most = rate_of(root);
  }
  double total = 0;
  for (const auto& [bus_id, port] : ports) {
    total += port.most > 0 ? std::min(port.sum, port.most) : port.sum;
  }
  return total;
}

bool is_between_two(CopyKind kind) {
  return kind == CopyKind::p2p_read || kind == CopyKind::p2p_write || kind == CopyKind::p2p_bidir;
}

std::optional<CopyLimit> limit_between(const CopySpec& spec,
                                       const std::vector<system::KfdNode>& nodes) {
  if (spec.devices.size() != 2) return {};
  const auto one_way =
      xgmi_bytes_per_s(nodes, bus_id_of(spec.devices[0]), bus_id_of(spec.devices[1]));
  if (!one_way) return {};
  return CopyLimit{spec.kind == CopyKind::p2p_bidir ? 2 * *one_way : *one_way, "xgmi-link"};
}

}  // namespace

CopyResult::CopyResult(CopySpec measured) : spec(std::move(measured)) {
  id = id_of(spec);
  kind = to_string(spec.kind);
  source = source_of(spec);
  destination = destination_of(spec);
  size_bytes = spec.size_bytes;
  set_names();
}

void CopyResult::summarize() {
  summary = base::summarize(samples_s);
  if (samples_s.empty()) return;
  median_s = summary.median;
  if (!has_rate()) return;
  bytes_per_s = rate_of(summary.median);
  low_bytes_per_s = rate_of(summary.p95);  // the longest time is the lowest rate
  high_bytes_per_s = rate_of(summary.p05);
  if (!limit) {
    set_share(no_share("the limit of this copy is not known here"), *this);
    return;
  }
  limit_source = limit->source;
  const std::string name =
      "the limit of " + format_rate(limit->bytes_per_s) + " (" + limit_source + ")";
  set_share(share_of(*bytes_per_s, limit->bytes_per_s, name,
                     cache_cause(2 * static_cast<double>(size_bytes), limit->l2_cache_bytes)),
            *this);
}

namespace {

CopyResult name_wrong(CopyResult result) {
  result.status = Status::mismatch;
  result.reason =
      result.spec.is_chase
          ? std::to_string(result.wrong->count) + " launches ended elsewhere than the chain"
          : std::to_string(result.wrong->count) + " words of 4 bytes arrived wrong";
  return result;
}

}  // namespace

CopyResult CopyBench::measure(const PlannedCopy& planned) {
  CopyResult result(planned.spec);
  if (!planned.skip_reason.empty()) {
    result.status = Status::skipped;
    result.reason = planned.skip_reason;
    return result;
  }
  try {
    measure_copy(result);
  } catch (const Error& error) {
    // Wrong data stays the result, whatever ended the copies afterwards.
    if (result.wrong) return name_wrong(std::move(result));
    if (error.code() == ErrorCode::cancelled) throw;
    const bool is_skipped = error.code() == ErrorCode::unsupported;
    result.status = is_skipped ? Status::skipped : Status::failed;
    result.reason = error.what();
    if (!is_skipped) result.error = error;
  }
  return result;
}

// Runs until the noise is low, checks each run, and rates them by what was seen meanwhile.
template <class Run>
void CopyBench::take_samples(Run& run, CopyResult& result) {
  const CopySpec& spec = result.spec;
  machine::LinkSampler::Options watched;
  watched.root = options_.root;
  watched.bus_ids = bus_ids_of(spec);
  watched.also = options_.while_copying;
  machine::LinkSampler sampler(std::move(watched));
  std::vector<CopySample> samples;
  const auto sample = [&] {
    if (options_.cancel != nullptr) options_.cancel->throw_if_cancelled("bench-copy");
    samples.push_back(run.run());
    add_wrong(run.check(), result.wrong);
    return samples.back().span_s;
  };
  const std::size_t kept = collect_samples(options_.sampling, sample).size();
  samples.erase(samples.begin(), samples.end() - static_cast<std::ptrdiff_t>(kept));
  const std::vector<machine::LinkObservation> seen = sampler.stop();
  remember(seen);
  result.limit = limit_of(spec, seen,
                          is_between_two(spec.kind) ? system::read_kfd_nodes(options_.root)
                                                    : std::vector<system::KfdNode>{});
  add_samples(samples, result);
}

void CopyBench::measure_copy(CopyResult& result) {
  const CopySpec& spec = result.spec;
  std::optional<NodeBinding> binding;
  for (const HostNode& node : options_.nodes) {
    if (spec.node == node.number) binding.emplace(node);
  }
  if (spec.is_chase) {
    ChaseRun run(spec);
    take_samples(run, result);
  } else {
    CopyRun run(spec, tools_, options_.run);
    result.copies_per_sample = run.copies_per_sample();
    take_samples(run, result);
    result.has_gate_expired = run.has_gate_expired();
  }
  if (result.wrong) result = name_wrong(std::move(result));
}

void CopyBench::remember(const std::vector<machine::LinkObservation>& seen) {
  for (const machine::LinkObservation& link : seen) {
    const auto known = std::ranges::find(links_, link.bus_id, &machine::LinkObservation::bus_id);
    if (known == links_.end()) {
      links_.push_back(link);
    } else if (link.fastest_bytes_per_s.value_or(0) > known->fastest_bytes_per_s.value_or(0)) {
      *known = link;
    }
  }
}

std::optional<CopyLimit> limit_of(const CopySpec& spec,
                                  const std::vector<machine::LinkObservation>& links,
                                  const std::vector<system::KfdNode>& nodes) {
  if (spec.is_latency || spec.devices.empty()) return {};
  if (spec.kind == CopyKind::d2d) {
    const Device& device = spec.devices.front();
    const DeviceInfo& info = device.info();
    const auto peak = memory_peak(device.platform(), info);
    if (!peak) return {};
    // Each byte is read and written.
    return CopyLimit{peak->bytes_per_s / 2, peak->source, info.l2_cache_bytes};
  }
  if (is_between_two(spec.kind)) return limit_between(spec, nodes);
  if (!uses_host(spec.kind)) return {};
  const bool is_beside = spec.beside != Beside::nothing;
  const auto one_way =
      links_bytes_per_s(is_beside ? std::vector{spec.devices.front()} : spec.devices, links);
  if (!one_way) return {};
  return CopyLimit{spec.kind == CopyKind::bidir ? 2 * *one_way : *one_way, "pcie-link"};
}

}  // namespace hiptool::measure
