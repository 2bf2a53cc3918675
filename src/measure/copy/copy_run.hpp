// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <vector>

#include "measure/copy/gate.hpp"
#include "measure/copy/peer_access.hpp"
#include "measure/copy/spec.hpp"
#include "measure/copy/track.hpp"

namespace hiptool::measure {

/// One timed run of all tracks; times are for one copy of each track.
struct CopySample {
  /// By events: until all tracks were done; beside others that of the first track alone, and of a
  /// sum of rates the time that it means.
  double span_s = 0;
  double wall_s = 0;             ///< the same by the host's clock
  std::vector<double> tracks_s;  ///< by events, of each track
  bool is_gated = false;
};

/// The memory, streams and gates of a measurement. Copies are timed by events after a gate and by
/// the host's clock, and the copied data is checked after each sample.
class CopyRun {
 public:
  struct Options {
    std::chrono::milliseconds gate_limit{1000};
    /// A sample has as many copies as take this long, up to the limit of the queue.
    double sample_time_s = 0.002;
    /// Each sample instead has 16 copies, or as many as fit the queue, after 4 that are not timed,
    /// so that caches are as full at its start as at its end; a kernel repeats its copy by itself.
    /// As nvbandwidth 0.8 measures.
    bool is_steady = false;
  };

  /// Allocates and enables peer access. Blocks. Throws Error(unsupported) without access to a peer
  /// or without the copy kernel.
  CopyRun(const CopySpec& spec, ToolBox& tools, Options options);
  ~CopyRun();
  CopyRun(const CopyRun&) = delete;
  CopyRun& operator=(const CopyRun&) = delete;

  /// Runs the copies once and times them. Blocks.
  CopySample run();
  /// Checks the data of the last run(). The first index is the first wrong track's.
  WrongWords check();

  std::size_t copies_per_sample() const noexcept { return copies_; }
  /// A gate opened by itself; no gate has been used since.
  bool has_gate_expired() const noexcept { return has_gate_expired_; }

 private:
  using Clock = std::chrono::steady_clock;

  void enable_peers();
  void choose_copies();
  bool may_close_gates() const;
  CopySample run_latency();
  CopySample run_tracks(bool holds);
  void run_untimed();
  /// Launches or copy calls of a track in a sample.
  std::size_t calls_per_sample() const;
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
