// SPDX-License-Identifier: MIT
#include "measure/copy/copy_run.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/clock.hpp"
#include "base/contains.hpp"
#include "core/call.hpp"
#include "hiptool/device.hpp"

namespace hiptool::measure {
namespace {

constexpr std::size_t marks_per_track = 3;  // the wait for the gate and two events
// Of a steady sample (nvbandwidth 0.8: WARMUP_COUNT of memcpy.cpp, defaultLoopCount of common.h).
constexpr std::size_t untimed_copies = 4;
constexpr std::size_t steady_copies = 16;

std::uint32_t next_seed() {
  static std::atomic<std::uint32_t> seed{1};
  return seed.fetch_add(1);
}

}  // namespace

CopyRun::CopyRun(const CopySpec& spec, ToolBox& tools, Options options)
    : spec_(spec), options_(options) {
  enable_peers();
  std::map<std::string, std::size_t> tracks_on;
  const std::vector<CopyRoute> routes = routes_of(spec);
  const std::size_t ways = spec.is_split() ? 2 : 1;
  for (std::size_t i = 0; i < routes.size(); i += ways) {
    const std::string id = routes[i].executor.id();
    auto& gate = gates_[id];
    if (!gate) gate = std::make_unique<Gate>(tools.of(routes[i].executor), options.gate_limit);
    CopySpec of_route = spec;
    if (!spec.is_split()) of_route.size_bytes = spec.bytes_of(i);
    tracks_.push_back(std::make_unique<CopyTrack>(of_route, routes[i], next_seed(), tools));
    most_tracks_ = std::max(most_tracks_, ++tracks_on[id]);
  }
  if (!spec.is_latency) choose_copies();
}

CopyRun::~CopyRun() {
  for (auto& [id, gate] : gates_) gate->open();  // the tracks' streams wait for it
}

void CopyRun::enable_peers() {
  if (!uses_peers(spec_.kind)) return;
  std::vector<std::pair<std::string, std::string>> enabled;
  const auto enable = [&](const Device& device, const Device& other) {
    const std::pair pair{device.id(), other.id()};
    if (base::contains(enabled, pair)) return;
    peers_.push_back(std::make_unique<PeerAccess>(device, other));
    enabled.push_back(pair);
  };
  for (const CopyRoute& route : routes_of(spec_)) {
    const Device& other = *route.source == route.executor ? *route.destination : *route.source;
    enable(route.executor, other);
    // Programs that use several devices have it both ways, and a driver may copy otherwise then.
    if (can_access_peer(other, route.executor)) enable(other, route.executor);
  }
}

std::size_t CopyRun::calls_per_sample() const {
  return options_.is_steady && spec_.engine == CopyEngine::kernel ? 1 : copies_;
}

bool CopyRun::may_close_gates() const {
  // Copies of memory that is not pinned may block their caller until they are done.
  const bool is_async =
      !spec_.memory || *spec_.memory == HostKind::pinned || *spec_.memory == HostKind::registered;
  if (!is_async || spec_.is_latency || has_gate_expired_) return false;
  if (most_tracks_ * (marks_per_track + calls_per_sample()) > most_queued) return false;
  return std::ranges::all_of(gates_, [](const auto& gate) { return gate.second->can_close(); });
}

void CopyRun::choose_copies() {
  const std::size_t slots = most_queued / most_tracks_;
  const std::size_t most = slots > marks_per_track ? slots - marks_per_track : 1;
  if (options_.is_steady) {
    copies_ = spec_.engine == CopyEngine::kernel ? steady_copies : std::min(steady_copies, most);
    return;
  }
  run_tracks(false);  // includes one-time costs and is not used
  const double copy_s = run_tracks(false).span_s;
  const double wanted = std::ceil(options_.sample_time_s / std::max(copy_s, 1e-9));
  copies_ = static_cast<std::size_t>(std::clamp(wanted, 1.0, static_cast<double>(most)));
}

CopySample CopyRun::run() {
  if (spec_.is_latency) return run_latency();
  for (;;) {
    const bool holds = may_close_gates();
    CopySample sample = run_tracks(holds);
    // After a gate that opened too early the times would include queueing.
    if (sample.is_gated == holds) return sample;
  }
}

CopySample CopyRun::run_latency() {
  CopyTrack& track = *tracks_.front();
  ++sample_;
  const auto start = Clock::now();
  track.queue_copy(sample_);
  track.stream().synchronize();
  CopySample sample;
  sample.wall_s = base::seconds_since(start);
  sample.span_s = sample.wall_s;
  sample.tracks_s = {sample.wall_s};
  return sample;
}

CopySample CopyRun::run_tracks(bool holds) {
  ++sample_;
  if (options_.is_steady) run_untimed();
  auto start = Clock::now();
  const bool was_held = queue_all(holds, start);
  if (was_held) start = Clock::now();
  for (auto& [id, gate] : gates_) gate->open();
  for (const auto& track : tracks_) track->stream().synchronize();
  CopySample sample = read_times(base::seconds_since(start) / static_cast<double>(copies_));
  sample.is_gated = was_held;
  return sample;
}

void CopyRun::run_untimed() {
  for (const auto& track : tracks_) track->queue_untimed(sample_, untimed_copies);
  for (const auto& track : tracks_) track->stream().synchronize();
}

// True if all gates were still closed when the last copy was queued. Sets the start of the host's
// time if the gates are not used.
bool CopyRun::queue_all(bool holds, Clock::time_point& start) {
  for (auto& [id, gate] : gates_) gate->close(holds);
  for (const auto& track : tracks_) {
    gates_.at(track->route().executor.id())->hold(track->stream());
    track->queue_start();
  }
  if (!holds) {
    // A start event that the device records late would hide time of copies that block their caller.
    for (const auto& track : tracks_) track->stream().synchronize();
    start = Clock::now();
  }
  for (const auto& track : tracks_) {
    options_.is_steady ? track->queue_passes(sample_, copies_) : track->queue(sample_, copies_);
  }
  if (!holds) return false;
  bool was_held = true;
  for (const auto& [id, gate] : gates_) {
    if (!gate->has_expired()) continue;
    was_held = false;
    if (!gate->lengthen()) has_gate_expired_ = true;
  }
  return was_held;
}

CopySample CopyRun::read_times(double wall_s) const {
  const auto copies = static_cast<double>(copies_);
  CopySample sample;
  sample.wall_s = wall_s;
  for (const auto& track : tracks_) {
    sample.tracks_s.insert(sample.tracks_s.end(), spec_.is_split() ? 2 : 1,
                           track->duration_s() / copies);
    const Event& opened = gates_.at(track->route().executor.id())->opened();
    sample.span_s = std::max(sample.span_s, track->end_s(opened) / copies);
  }
  if (tracks_.size() == 1 || spec_.beside != Beside::nothing) {
    sample.span_s = sample.tracks_s.front();
  } else if (spec_.sums_copies) {
    // The time in which copies of the sum of their rates transfer what all copies do.
    double rates = 0;
    for (const double track_s : sample.tracks_s) rates += 1 / track_s;
    sample.span_s = static_cast<double>(tracks_.size()) / rates;
  }
  return sample;
}

WrongWords CopyRun::check() {
  WrongWords found;
  for (const auto& track : tracks_) found.add(track->check(sample_));
  return found;
}

}  // namespace hiptool::measure
