// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hiptool/load_report.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/model_summary.hpp"
#include "hiptool/sampling.hpp"
#include "hiptool/timeline.hpp"
#include "load/manifest/manifest.hpp"
#include "reference/prove/needs.hpp"
#include "reference/prove/prove.hpp"
#include "reference/prove/self_test.hpp"

namespace hiptool::results {

/// The comparison of a model with a manifest.
struct ManifestCheck {
  std::string algorithm;
  bool covers_metadata = false;  ///< the manifest has the bytes outside tensors too
  std::vector<load::ManifestDifference> differences;
};

/// Tokens that a model was continued with.
struct DecodeOutcome {
  std::vector<std::string> devices;
  std::vector<std::uint32_t> prompt_ids;
  std::vector<std::uint32_t> ids;
  std::uint64_t wanted = 0;         ///< ids when nothing interrupts
  std::optional<std::string> text;  ///< of the ids; absent without a known vocabulary
  std::uint64_t logits_digest = 0;
  SamplingOptions sampling;
  std::uint64_t trained_tokens = 0;     ///< context that the model was trained for; 0: unknown
  std::optional<double> tokens_per_s;   ///< after the prompt; absent for one token
  std::optional<double> share_of_peak;  ///< of the memory bandwidth, by the bytes of all weights
  std::string share_reason;             ///< why there is none, or one above 1
  bool is_above_peak = false;           ///< the reason is that the rate is above the peak

  bool is_complete() const { return ids.size() == wanted; }
};

/// What one of several devices that each hold the model computes with it.
struct ProvedReplica {
  std::string device;
  reference::ProveResult result;
};

/// What a device computes with a model, compared with float64.
struct ProveOutcome {
  std::vector<std::string> devices;  ///< none: only a golden was written
  std::vector<std::uint32_t> prompt_ids;
  std::uint64_t trained_tokens = 0;  ///< context that the model was trained for; 0: unknown
  reference::ProveResult result;
  std::string checked_golden;  ///< its path, where the device was compared with one
  std::string written_golden;
  std::string written_logits;  ///< a path, as the next ones
  std::vector<std::pair<std::size_t, std::string>> written_layers = {};
  std::vector<reference::PlantedFault> self_test = {};  ///< of a device that is right
  std::size_t model_layers = 0;
  bool is_interrupted = false;  ///< the result has what was compared before
  /// Of each device that was compared to the end, where each holds the model; else none.
  std::vector<ProvedReplica> replicas = {};

  /// Of replicas, the result becomes the first wrong one, or that with the largest error.
  void choose_result();
  /// The replicas that are right, or wrong: "nvidia:0-4, nvidia:6-7".
  std::string replicas_text(bool are_right) const;
};

/// The results of a `load` so far: the library's report and the fields that the command adds.
/// Complete at the end, partial if the run failed. `phases` begin at the run's start.
struct LoadOutcome : LoadReport {
  bool is_planned = false;  ///< nothing was to be loaded, and what was asked for is done
  std::optional<ModelFile> model;
  std::string found_for;  ///< the name that led to the model's path; empty: the path was given
  std::optional<ModelSummary> summary;
  std::optional<ArenaLayout> layout;            ///< on one device, whichever it will be
  std::vector<std::string> device_names;        ///< by device of the plan: "NVIDIA H200"
  std::size_t chosen_devices = 0;               ///< this many of the fit's first parts were chosen
  std::optional<ManifestCheck> manifest_check;  ///< once a manifest was compared
  std::optional<DecodeOutcome> decode;          ///< once there is a token
  std::optional<ProveOutcome> prove;            ///< once the computation was compared
  std::optional<reference::Needs> prove_needs;  ///< of a plan, where the model can be proved
  /// "SHA256SUMS" next to the model, which this verify mode does not compare with; empty: none.
  std::string uncompared_hashes;
  std::string checked_manifest;       ///< its path, once the model was found to match it
  std::string written_manifest;       ///< its path, once it was written
  double process_verdict_time_s = 0;  ///< from the process's start, without the probes
  double wall_time_s = 0;
  std::unique_ptr<Timeline> timeline;  ///< null unless one is recorded
};

}  // namespace hiptool::results
