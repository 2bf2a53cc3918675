// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "cli/help/command_docs.hpp"
#include "hiptool/error.hpp"

namespace hiptool::cli {

struct HelpStyle {
  std::size_t width = 80;
  bool color = false;
  bool is_brief = true;  ///< a line for most options; else all that there is to know
};

/// Help of a call without a command: examples, commands, common options, topics.
std::string overview_text(const ProgramDoc& program, const HelpStyle& style);

/// Help of one command, examples first. The short one of any has at most 60 lines of 80 columns.
std::string command_help_text(const CommandDoc& command, const HelpStyle& style);

/// Topics of `hiptool help` other than commands.
std::vector<std::string> help_topics();

/// The text of a topic; empty for an unknown one.
std::string topic_text(const std::string& topic);

/// The error of a word that is neither a command nor a topic. Its hint names the command or topic
/// that explains the word, such as the name of a kernel or an environment variable.
Error unknown_topic(CommandTree& tree, const std::string& word);

/// Every command with its examples, arguments and options, as Markdown.
std::string reference_text(const ProgramDoc& program);

}  // namespace hiptool::cli
