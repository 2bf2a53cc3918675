// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "cli/command.hpp"

namespace hiptool::cli {

struct MakeModelOptions {
  std::string path;
  std::optional<std::string> format;  ///< of the model; absent: by the file's extension
  std::uint64_t size_bytes = 64u << 20;
  std::uint64_t tensors = 0;  ///< 0: 16, but one for each type or shard where there are more
  std::string types;          ///< separated by commas; empty: the writer's choice
  std::uint64_t seed = 1;
  std::uint64_t shards = 1;
  std::uint64_t vocabulary = 0;
  bool force = false;  ///< replace what exists
};

Command make_model_command();
Runner add_make_model(CLI::App& app);
int run_make_model(const MakeModelOptions& options, Context& context);

}  // namespace hiptool::cli
