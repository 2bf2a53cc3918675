// SPDX-License-Identifier: MIT
/// Runs copies one by one; a failure or wrong data in one does not stop the others.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/statistics.hpp"
#include "hiptool/cancel.hpp"
#include "hiptool/device.hpp"
#include "machine/link_sampler.hpp"
#include "measure/copy/copy_run.hpp"
#include "measure/copy/plan.hpp"
#include "measure/copy/spec.hpp"
#include "measure/sample_series.hpp"
#include "report/measurement.hpp"
#include "system/kfd.hpp"

namespace hiptool::measure {

using report::Status;

struct CopyLimit {
  double bytes_per_s = 0;  ///< copied, each byte counted once
  std::string_view
      source;  ///< "probe", "pcie-link", "xgmi-link", "memory-clock", "sku-table", "user"
  std::optional<std::uint64_t> l2_cache_bytes = std::nullopt;  ///< of a copy within one device
};

/// The limit of a copy: between host and device from the observed PCIe links (absent bus ids count
/// as unknown), within a device from its memory's peak, between two neighbours from their XGMI
/// links. Absent for other copies.
std::optional<CopyLimit> limit_of(const CopySpec& spec,
                                  const std::vector<machine::LinkObservation>& links,
                                  const std::vector<system::KfdNode>& nodes = {});

/// One copy of several that ran at once.
struct TrackRate {
  std::string source;
  std::string destination;
  double bytes_per_s = 0;  ///< median of its own time
};

/// A sample is the time in which every track copies size_bytes once.
struct CopyResult : report::Measurement {
  CopyResult() = default;
  explicit CopyResult(CopySpec measured);

  CopySpec spec;
  base::Summary summary;          ///< of the samples
  std::uint64_t bytes = 0;        ///< copied by all tracks in one sample
  std::optional<double> wall_s;   ///< median by the host's clock
  std::optional<double> overlap;  ///< of several tracks: 0 one after the other, 1 all at once
  std::vector<TrackRate> tracks;  ///< where there are several
  std::optional<CopyLimit> limit;
  std::size_t copies_per_sample = 1;
  bool is_gated = false;
  bool has_gate_expired = false;
  bool is_serialised = false;    ///< tracks that could run at once did not
  bool clocks_disagree = false;  ///< host's clock and events by more than 5 %

  bool has_rate() const noexcept { return !samples_s.empty() && !spec.is_latency; }
  /// Copied bytes per second in a sample of that time.
  double rate_of(double sample_s) const { return static_cast<double>(bytes) / sample_s; }
  /// Summarises the samples: median, rates, and the share of the limit.
  void summarize();
};

/// The result with what only copies have in its details.
report::Measurement measurement_of(const CopyResult& result);

struct CopyBenchOptions {
  SamplingOptions sampling;
  CopyRun::Options run;
  std::filesystem::path root = "/";
  std::vector<HostNode> nodes;
  const CancelToken* cancel = nullptr;  ///< may be null
  std::function<void()> while_copying;  ///< called repeatedly on another thread; must not throw
};

class CopyBench {
 public:
  explicit CopyBench(CopyBenchOptions options) : options_(std::move(options)) {}

  /// Runs one copy. Blocks. A failed call sets the status of the result; only Error(cancelled) is
  /// thrown.
  CopyResult measure(const PlannedCopy& planned);

  /// Links of all devices, observed during the copies so far.
  const std::vector<machine::LinkObservation>& links() const noexcept { return links_; }

 private:
  void measure_copy(CopyResult& result);
  template <class Run>
  void take_samples(Run& run, CopyResult& result);
  void remember(const std::vector<machine::LinkObservation>& seen);

  CopyBenchOptions options_;
  ToolBox tools_;
  std::vector<machine::LinkObservation> links_;
};

}  // namespace hiptool::measure
