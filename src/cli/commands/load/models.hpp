// SPDX-License-Identifier: MIT
/// `load` of several models: one after the other, with one verdict.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/commands/load/run.hpp"
#include "hiptool/error.hpp"
#include "results/load/models.hpp"

namespace hiptool::cli {

/// The paths without further shards, or the folder, of a set that an earlier one leads to:
/// "s-*.gguf" is one model. The same path again is another load.
std::vector<std::string> without_shards(const LoadArguments& arguments,
                                        const Environment& environment);

/// Loads, verifies and releases one model after the other. An error in one does not stop the
/// others; an interrupt does.
int run_models(const LoadArguments& arguments, Context& context);

}  // namespace hiptool::cli
