// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "cli/command_tree.hpp"

namespace hiptool::cli {

struct HelpStyle {
  std::size_t width = 80;
  bool color = false;
};

/// The short help of a bare call: examples, commands, common options, topics.
std::string overview_text(const CommandTree& tree, const HelpStyle& style);

/// Help of one command, examples first.
std::string command_help_text(const CommandTree& tree, const Command& command,
                              const HelpStyle& style);

/// The text of `hiptool help TOPIC` for what is no command. Throws Error(invalid_argument) with a
/// suggestion for a topic that does not exist.
std::string topic_text(const std::string& topic);

}  // namespace hiptool::cli
