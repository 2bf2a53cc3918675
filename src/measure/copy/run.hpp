// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <vector>

#include "measure/copy/gate.hpp"
#include "measure/copy/spec.hpp"
#include "measure/copy/track.hpp"

namespace hiptool::measure {

/// One timed run of all copies of a measurement; all times are of one copy of each track.
struct CopySample {
  double span_s = 0;             ///< by events: until all tracks were done
  double wall_s = 0;             ///< the same by the host's clock
  std::vector<double> tracks_s;  ///< by events, each track for itself
  bool is_gated = false;
};

/// A measurement made ready: memory, streams, gates. Copies are timed by events behind a gate and
/// by the host's clock, and what they carried is checked after each sample.
class CopyRun {
 public:
  struct Options {
    std::chrono::milliseconds gate_limit{1000};
    /// As many copies a sample as take so long, within what may be queued.
    double sample_time_s = 0.002;
  };

  /// Allocates and enables peer access. Blocks. Throws Error(unsupported) for what the devices
  /// cannot do: no access to a peer, no copy kernel.
  CopyRun(const CopySpec& spec, ToolBox& tools, Options options);
  ~CopyRun();
  CopyRun(const CopyRun&) = delete;
  CopyRun& operator=(const CopyRun&) = delete;

  /// Runs the copies once and times them. Blocks.
  CopySample run();
  /// Checks what the last run() copied. The first track that is wrong tells where.
  WrongWords check();

  std::size_t copies_per_sample() const noexcept { return copies_; }
  /// The gate opened by itself once; no gate is used since.
  bool has_gate_expired() const noexcept { return has_gate_expired_; }

 private:
  using Clock = std::chrono::steady_clock;
  class PeerAccess;

  void enable_peers();
  void choose_copies();
  bool may_close_gates() const;
  CopySample run_latency();
  CopySample run_tracks(bool holds);
  bool queue_all(bool holds, Clock::time_point& start);
  CopySample read_times(double wall_s) const;

  CopySpec spec_;
  Options options_;
  std::vector<std::unique_ptr<PeerAccess>> peers_;
  std::map<std::string, std::unique_ptr<Gate>> gates_;  // by device
  std::vector<std::unique_ptr<CopyTrack>> tracks_;
  std::size_t most_tracks_ = 1;  // on one device
  std::size_t copies_ = 1;
  std::uint64_t sample_ = 0;
  bool has_gate_expired_ = false;
};

}  // namespace hiptool::measure
