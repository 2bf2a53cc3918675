// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/commands/load/sampling.hpp"
#include "hiptool/error.hpp"
#include "hiptool/load.hpp"
#include "hiptool/platform.hpp"
#include "results/load/outcome.hpp"
#include "results/load/report.hpp"

namespace hiptool::cli {

struct LoadArguments : results::LoadReportOptions {
  std::string command = "load";  ///< or "prove", which always proves
  std::vector<std::string> paths;
  VerifyMode verify = VerifyMode::automatic;
  ReadMode io = ReadMode::automatic;
  std::string write_manifest;  ///< empty: none, as the next one
  std::string check_manifest;
  /// Of a JSON manifest: "xxh3" (the default), "sha256".
  std::optional<std::string> manifest_digest;
  std::vector<std::string> sha256;  ///< expected of each file of the model; empty: none
  std::string trace;                ///< the file for the timeline; empty: none
  LoadSplit split;
  std::uint64_t context = 0;              ///< tokens of the KV cache to reserve memory for; 0: none
  std::optional<std::string> kv_type;     ///< of that cache: f16 (the default), q8_0, ...
  std::optional<std::string> kv_type_k;   ///< of its keys, where it is another one
  std::optional<std::string> kv_type_v;   ///< of its values
  std::uint64_t parallel = 1;             ///< sequences with a cache of their own
  std::uint64_t decode = 0;               ///< tokens to continue the prompt with; 0: no decoding
  std::vector<std::uint32_t> prompt_ids;  ///< empty: made by a fixed formula
  bool prove = false;
  std::vector<std::size_t> layers;  ///< to prove; empty: all
  std::string write_golden;         ///< empty: none, as the next one
  std::string check_golden;
  std::string write_logits;           ///< empty: none
  std::vector<std::size_t> observed;  ///< layers whose outputs are written next to it
  bool plants_faults = false;         ///< `prove --self-test`
  SamplingArguments sampling;         ///< of --decode
  bool strict = false;
  bool opaque = false;
  bool demo = false;
  bool self_test = false;
  bool check_tensors = false;
  bool force = false;  ///< goldens and manifests replace files of other kinds
};

/// What the loads of one command share.
class LoadSession {
 public:
  explicit LoadSession(Context& context) : context_(context) {}

  /// The selected devices, whose platforms start once. A failure is final: later calls throw it
  /// again, so that a driver that hangs is not waited for once for each model.
  std::vector<Device> open_devices();
  /// The devices could not be opened.
  bool lacks_devices() const { return error_.has_value(); }

  double preparation_s = 0;         ///< what making the model of --demo took, in no other time
  std::string step_prefix;          ///< of the progress of this model: "2/3 "
  bool needs_memory_again = false;  ///< another model follows, so device memory is freed at once

 private:
  Context& context_;
  std::unique_ptr<Platforms> platforms_;
  std::optional<Error> error_;
};

/// Parses the model (the only one of `arguments`) and plans, or calls load_model(), then compares
/// and writes manifests. The outcome holds the results so far also when this throws.
void run_load_steps(const LoadArguments& arguments, Context& context, LoadSession& session,
                    results::LoadOutcome& outcome);

}  // namespace hiptool::cli
