// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/load/manifest.hpp"
#include "hiptool/async_loader.hpp"
#include "hiptool/device.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/model_fit.hpp"
#include "hiptool/model_summary.hpp"
#include "hiptool/self_test.hpp"
#include "hiptool/timeline.hpp"
#include "hiptool/value_check.hpp"
#include "hiptool/verify.hpp"

namespace hiptool::cli {

/// A step of a run and when it took place, from the start of the run.
struct Phase {
  std::string name;
  double start_s = 0;
  double duration_s = 0;
};

/// Rates that bound the load, measured after it. Empty: not measured.
struct LoadLimits {
  std::optional<double> h2d_bytes_per_s;   ///< of the links, see load::measure_links
  std::optional<double> read_bytes_per_s;  ///< of the load's threads without copies

  bool is_read_bound() const {
    return read_bytes_per_s && (!h2d_bytes_per_s || *read_bytes_per_s < *h2d_bytes_per_s);
  }
  /// The lower of the two.
  std::optional<double> lower() const {
    return is_read_bound() ? read_bytes_per_s : h2d_bytes_per_s;
  }
};

/// A file beside the SHA-256 that is published for it.
struct PublishedHash {
  std::uint32_t file = 0;  ///< index into ModelFile::files()
  std::string published;
  std::string found;  ///< empty until it was computed
};

/// What comparing the model with a manifest has shown.
struct ManifestCheck {
  std::string algorithm;
  bool covers_metadata = false;  ///< the manifest has the bytes outside tensors too
  std::vector<ManifestDifference> differences;
};

/// What a run of `load` has found out so far; complete at its end, partial when it failed.
struct LoadOutcome {
  std::string status = "failed";  ///< as in the document
  std::string verify_mode = "none";
  bool is_read_back = false;  ///< all bytes come back from the device, as no kernel digests them
  std::optional<ModelFile> model;
  std::optional<ModelSummary> summary;
  std::optional<ArenaLayout> layout;  ///< on one device, whichever it will be
  std::optional<LoadPlan> plan;       ///< absent as long as no device is chosen
  std::optional<ModelFit> fit;
  std::vector<std::string> device_names;  ///< by device of the plan: "NVIDIA H200"
  std::size_t chosen_devices = 0;  ///< how many of the fit's parts were asked for; they come first
  std::optional<LoadStatistics> load;        ///< of all devices together
  std::vector<LoadStatistics> device_loads;  ///< by device of the plan
  LoadLimits limits;                         ///< of all devices together, see share_of_limit
  std::optional<VerifyResult> verify;
  std::string verify_note;  ///< why this mode, and by which kernel image; may be empty
  std::vector<FaultResult> self_test;
  std::optional<ValueCheckResult> values;     ///< with --check-tensors
  std::optional<std::uint64_t> cached_bytes;  ///< of the files, when the load began
  std::uint64_t done_bytes = 0;               ///< read and queued, for a load that was interrupted
  std::vector<PublishedHash> published;       ///< with --verify published
  std::optional<ManifestCheck>
      manifest_check;            ///< once a manifest was compared, whatever came of it
  std::string checked_manifest;  ///< its path, once the model was found to be like it
  std::string written_manifest;  ///< its path, once it is there
  std::vector<Phase> phases;
  double verdict_time_s = 0;  ///< from the process's start to the verdict, without the probes
  double wall_time_s = 0;
  std::unique_ptr<Timeline> timeline;  ///< null unless one was asked for; lane 0 has the phases
};

/// Records one phase from its making to its end, also when an exception passes.
class PhaseTimer {
 public:
  using Clock = std::chrono::steady_clock;

  /// `name` is a literal.
  PhaseTimer(LoadOutcome& outcome, const char* name, Clock::time_point run_start)
      : outcome_(outcome), name_(name), run_start_(run_start), start_(Clock::now()) {}
  ~PhaseTimer() { record(Clock::now()); }
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;

  /// The phase ended so long after its start, and `next`, a literal, began then.
  void ended_after(double duration_s, const char* next) {
    const auto end = start_ + std::chrono::duration_cast<Clock::duration>(
                                  std::chrono::duration<double>(duration_s));
    record(end);
    name_ = next;
    start_ = end;
  }

 private:
  void record(Clock::time_point end) {
    const auto seconds = [](Clock::duration duration) {
      return std::chrono::duration<double>(duration).count();
    };
    outcome_.phases.push_back({name_, seconds(start_ - run_start_), seconds(end - start_)});
    if (outcome_.timeline) outcome_.timeline->add({0, name_, start_, end, 0});
  }

  LoadOutcome& outcome_;
  const char* name_;
  Clock::time_point run_start_;
  Clock::time_point start_;
};

}  // namespace hiptool::cli
