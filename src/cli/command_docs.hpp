// SPDX-License-Identifier: MIT
/// The command tree as data: what completion, man page and reference are made from.
#pragma once
#include <string>
#include <vector>

#include "cli/command_tree.hpp"

namespace hiptool::cli {

struct OptionDoc {
  std::string short_name;  ///< "-q"; may be empty
  std::string long_name;   ///< "--quiet"; may be empty
  std::string value_name;  ///< "FILE"; empty for a flag
  std::string help;
  std::vector<std::string> choices;  ///< words that it takes; empty: any, or a file
  bool takes_file = false;
};

struct ArgumentDoc {
  std::string name;  ///< "PATH"
  std::string help;
  std::vector<std::string> choices;
  bool takes_file = false;
  bool is_required = false;
  bool is_repeated = false;
};

struct CommandDoc {
  std::string name;
  std::string summary;
  std::vector<Example> examples;
  std::vector<ArgumentDoc> arguments;
  std::vector<OptionDoc> options;         ///< its own
  std::vector<OptionDoc> common_options;  ///< those of every command that mean something for it
  std::vector<std::string> formats;
};

/// Every command in the order of the help, `help` last.
std::vector<CommandDoc> describe_commands(CommandTree& tree);

/// Options that stand before or after every command.
std::vector<OptionDoc> describe_common_options(CommandTree& tree);

/// Topics of `hiptool help`, apart from commands.
std::vector<std::string> help_topics();

}  // namespace hiptool::cli
