// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "cli/command_docs.hpp"

namespace hiptool::cli {

/// A completion script for the shell ("bash", "zsh" or "fish"): commands, options, and the words
/// that they take. It runs nothing of hiptool, so that it is fast and opens no driver.
std::string completion_script(const std::string& shell, const std::vector<CommandDoc>& commands,
                              const std::vector<OptionDoc>& common_options);

}  // namespace hiptool::cli
