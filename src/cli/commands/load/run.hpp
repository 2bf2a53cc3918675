// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/commands/load/outcome.hpp"

namespace hiptool::cli {

struct LoadOptions {
  std::vector<std::string> paths;
  std::optional<std::string> verify;
  std::optional<std::string> io;
  std::string write_manifest;  ///< empty: none, as the next one
  std::string check_manifest;
  std::optional<std::string>
      manifest_digest;  ///< of a JSON manifest: "xxh3" (the default), "sha256"
  std::string trace;    ///< the file for the timeline; empty: none
  LoadSplit split;
  std::uint64_t context = 0;  ///< tokens of the KV cache to make room for; 0: not asked
  bool tensors = false;
  bool dry_run = false;
  bool strict = false;
  bool opaque = false;
  bool demo = false;
  bool self_test = false;
  bool check_tensors = false;
};

/// Parses, plans and, unless it is a dry run, loads and verifies. The outcome holds what was found
/// until then also when this throws.
void run_load_steps(const LoadOptions& options, Context& context, LoadOutcome& outcome);

}  // namespace hiptool::cli
