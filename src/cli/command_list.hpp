// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>
#include <vector>

#include "cli/command.hpp"

namespace hiptool::cli {

/// All subcommands in the order of the help.
const std::vector<Command>& commands();

/// The command of that name, or null.
const Command* find_command(std::string_view name);

}  // namespace hiptool::cli
