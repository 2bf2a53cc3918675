// SPDX-License-Identifier: MIT
/// The command tree as data: the source of help, completion, man page and reference.
#pragma once
#include <string>
#include <vector>

#include "cli/command_tree.hpp"
#include "cli/options.hpp"

namespace hiptool::cli {

/// "amount of work [possible values: quick, full] [default: quick]".
std::string brief_text(const OptionHelp& help);
/// The same with the details.
std::string whole_text(const OptionHelp& help);

struct OptionDoc {
  std::string short_name;  ///< "-q"; may be empty
  std::string long_name;   ///< "--quiet"; may be empty
  std::string value_name;  ///< "FILE"; empty for a flag
  OptionHelp help;
  std::string group;                 ///< "Verification"
  std::vector<std::string> choices;  ///< what completion offers; empty: any value, or a file
  bool takes_file = false;

  /// "-d, --device LIST".
  std::string spelled() const;
};

struct ArgumentDoc {
  std::string name;  ///< "PATH"
  OptionHelp help;
  std::vector<std::string> choices;
  bool takes_file = false;
  bool is_required = false;
  bool is_repeated = false;
};

struct CommandDoc {
  std::string name;
  std::string summary;
  std::string description;  ///< paragraphs, with an empty line between them
  std::vector<Example> examples;
  std::vector<ArgumentDoc> arguments;
  std::vector<OptionDoc> options;         ///< its own
  std::vector<OptionDoc> common_options;  ///< the common options that apply to it
  std::vector<std::string> formats;
  std::vector<std::string> export_formats;
  std::vector<std::string> condensed;  ///< groups of which the short help has only the names

  /// "hiptool load [options] [PATH...]".
  std::string usage() const;
};

struct ProgramDoc {
  std::string summary;
  std::vector<CommandDoc> commands;       ///< in the order of the help, `help` last
  std::vector<OptionDoc> common_options;  ///< accepted before and after every command

  const CommandDoc& command(const std::string& name) const;
};

ProgramDoc describe(CommandTree& tree);

/// "report compare" as a command of its own.
CommandDoc describe_form(CommandDoc command, const Form& form);

}  // namespace hiptool::cli
