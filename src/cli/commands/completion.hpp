// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>

#include "cli/command.hpp"

namespace hiptool::cli {

struct CompletionOptions {
  std::optional<std::string> shell;  ///< "bash", "zsh" or "fish"
};

Command completion_command();
Runner add_completion(CLI::App& app);
int run_completion(const CompletionOptions& options, Context& context);

}  // namespace hiptool::cli
