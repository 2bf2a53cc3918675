// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "cli/command.hpp"

namespace hiptool::cli {

struct MakeModelOptions {
  std::string path;
  std::optional<std::string> format;  ///< of the model; absent: from the extension
  std::uint64_t size_bytes = 64u << 20;
  std::uint64_t tensors = 0;  ///< 0: 16, or one per type or shard if more
  std::string types;          ///< comma-separated; empty: the default
  std::uint64_t seed = 1;
  std::uint64_t shards = 1;
  std::uint64_t vocabulary = 0;
  bool force = false;  ///< replace existing files
};

Command make_model_command();
Runner add_make_model(CLI::App& app);
int run_make_model(const MakeModelOptions& options, Context& context);

}  // namespace hiptool::cli
