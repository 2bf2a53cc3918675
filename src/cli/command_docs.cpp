// SPDX-License-Identifier: MIT
#include "cli/command_docs.hpp"

#include <CLI/CLI.hpp>

#include "cli/command_list.hpp"
#include "cli/options.hpp"

namespace hiptool::cli {
namespace {

bool is_file_name(const std::string& value_name) {
  return value_name.find("FILE") != std::string::npos ||
         value_name.find("PATH") != std::string::npos || value_name == "OUT" ||
         value_name == "DIR" || value_name == "FOLDER";
}

OptionDoc describe_option(CLI::Option& option) {
  OptionDoc doc;
  if (!option.get_snames().empty()) doc.short_name = "-" + option.get_snames().front();
  if (!option.get_lnames().empty()) doc.long_name = "--" + option.get_lnames().front();
  if (option.get_items_expected_max() > 0) doc.value_name = option.get_type_name();
  doc.help = option.get_description();
  doc.choices = choices_of(option);
  doc.takes_file = is_file_name(doc.value_name);
  if (doc.long_name == "--device") doc.choices = {"all", "cpu", "amd:0", "nvidia:0"};
  return doc;
}

ArgumentDoc describe_argument(CLI::Option& option) {
  ArgumentDoc doc;
  doc.name = option.get_name(true);
  doc.help = option.get_description();
  doc.choices = choices_of(option);
  doc.takes_file = is_file_name(doc.name);
  doc.is_required = option.get_required();
  doc.is_repeated = option.get_items_expected_max() > 1;
  if (doc.name == "ID") doc.choices = {"cpu", "amd:0", "nvidia:0"};
  return doc;
}

std::vector<OptionDoc> options_of(CLI::App& app) {
  std::vector<OptionDoc> docs;
  for (CLI::Option* option : app.get_options()) {
    const bool is_common = option == app.get_help_ptr() && app.get_parent() != nullptr;
    if (!option->get_positional() && !is_common) docs.push_back(describe_option(*option));
  }
  return docs;
}

std::vector<OptionDoc> common_options_for(const Command& command, CommandTree& tree) {
  std::vector<OptionDoc> docs;
  for (OptionDoc& doc : options_of(tree.root())) {
    const bool is_of_devices = doc.long_name == "--device" || doc.long_name == "--platform";
    if (is_of_devices && !command.takes_devices) continue;
    if (doc.long_name == "--format") {
      if (command.has_own_format) continue;
      for (const OutputFormat format : command.formats) {
        doc.choices.emplace_back(to_string(format));
      }
    }
    docs.push_back(std::move(doc));
  }
  return docs;
}

CommandDoc describe_help(CommandTree& tree) {
  CLI::App& app = *tree.root().get_subcommand("help");
  CommandDoc doc{"help", app.get_description(), {}, {}, {}, {}, {}};
  doc.examples = {{"hiptool help load", "the options of a command"},
                  {"hiptool help exit-codes", "what the exit codes mean"}};
  for (CLI::Option* option : app.get_options()) {
    if (option->get_positional()) doc.arguments.push_back(describe_argument(*option));
  }
  for (ArgumentDoc& argument : doc.arguments) {
    for (const Command& command : commands()) argument.choices.push_back(command.name);
    for (const std::string& topic : help_topics()) argument.choices.push_back(topic);
  }
  return doc;
}

}  // namespace

std::vector<CommandDoc> describe_commands(CommandTree& tree) {
  std::vector<CommandDoc> docs;
  for (const Command& command : commands()) {
    CLI::App& app = *tree.root().get_subcommand(command.name);
    CommandDoc& doc = docs.emplace_back();
    doc.name = command.name;
    doc.summary = command.summary;
    doc.examples = command.examples;
    doc.options = options_of(app);
    doc.common_options = common_options_for(command, tree);
    for (CLI::Option* option : app.get_options()) {
      if (option->get_positional()) doc.arguments.push_back(describe_argument(*option));
    }
    for (const OutputFormat format : command.formats) doc.formats.emplace_back(to_string(format));
  }
  docs.push_back(describe_help(tree));
  return docs;
}

std::vector<OptionDoc> describe_common_options(CommandTree& tree) {
  return options_of(tree.root());
}

std::vector<std::string> help_topics() {
  return {"exit-codes", "environment", "thresholds", "units", "reference", "man"};
}

}  // namespace hiptool::cli
