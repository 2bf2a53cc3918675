// SPDX-License-Identifier: MIT
#include "cli/help/command_docs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/help/help.hpp"
#include "cli/options.hpp"

namespace hiptool::cli {
namespace {

bool is_file_name(const std::string& value_name) {
  return value_name.find("FILE") != std::string::npos ||
         value_name.find("PATH") != std::string::npos || value_name == "MODEL" ||
         value_name == "OUT" || value_name == "DIR" || value_name == "FOLDER";
}

std::vector<std::string> names_of_formats(const std::vector<OutputFormat>& formats) {
  std::vector<std::string> names;
  for (const OutputFormat format : formats) names.emplace_back(to_string(format));
  return names;
}

OptionDoc describe_option(CLI::Option& option) {
  OptionDoc doc;
  if (!option.get_snames().empty()) doc.short_name = "-" + option.get_snames().front();
  if (!option.get_lnames().empty()) doc.long_name = "--" + option.get_lnames().front();
  if (option.get_items_expected_max() > 0) doc.value_name = option.get_type_name();
  doc.help = help_of(option);
  doc.group = group_of(option);
  doc.choices = doc.help.values;
  doc.takes_file = is_file_name(doc.value_name);
  if (doc.long_name == "--export") doc.choices = names_of_formats(all_formats());
  if (doc.long_name == "--device") doc.choices = {"all", "cpu", "amd:0", "nvidia:0"};
  return doc;
}

ArgumentDoc describe_argument(CLI::Option& option) {
  ArgumentDoc doc;
  doc.name = option.get_name(true);
  doc.help = help_of(option);
  doc.choices = doc.help.values;
  doc.takes_file = is_file_name(doc.name);
  doc.is_required = option.get_required();
  doc.is_repeated = option.get_items_expected_max() > 1;
  if (doc.name == "ID") doc.choices = {"cpu", "amd:0", "nvidia:0"};
  return doc;
}

// CLI11 has the option of help before all that are declared; here it is the last.
std::vector<OptionDoc> options_of(CLI::App& app) {
  std::vector<OptionDoc> docs;
  for (CLI::Option* option : app.get_options()) {
    if (!option->get_positional() && option != app.get_help_ptr()) {
      docs.push_back(describe_option(*option));
    }
  }
  if (app.get_parent() == nullptr) docs.push_back(describe_option(*app.get_help_ptr()));
  return docs;
}

std::vector<ArgumentDoc> arguments_of(CLI::App& app) {
  std::vector<ArgumentDoc> docs;
  for (CLI::Option* option : app.get_options()) {
    if (option->get_positional()) docs.push_back(describe_argument(*option));
  }
  return docs;
}

void add_completion_words(const Command& command, CommandDoc& doc) {
  if (command.completion_words == nullptr) return;
  for (CompletionWords& of : command.completion_words()) {
    for (ArgumentDoc& argument : doc.arguments) {
      if (argument.name == of.name) argument.choices = of.words;
    }
    for (OptionDoc& option : doc.options) {
      if (option.long_name == of.name) option.choices = of.words;
    }
  }
}

std::vector<OptionDoc> common_options_for(const Command& command,
                                          const std::vector<OptionDoc>& common) {
  std::vector<OptionDoc> docs;
  for (OptionDoc doc : common) {
    const bool is_of_devices = doc.long_name == "--device" || doc.long_name == "--platform";
    if (is_of_devices && command.usual_devices.empty()) continue;
    if (doc.long_name == "--device") doc.help.usual = command.usual_devices;
    if (doc.long_name == "--format") {
      if (command.has_own_format) continue;
      doc.choices = names_of_formats(command.formats);
      doc.help.values = doc.choices;
    }
    if (doc.long_name == "--export") {
      doc.choices = names_of_formats(command.formats);
      for (std::string& name : names_of_formats(command.export_formats)) {
        doc.choices.push_back(std::move(name));
      }
      doc.help.values = doc.choices;
    }
    docs.push_back(std::move(doc));
  }
  return docs;
}

CommandDoc describe_help(CLI::App& app) {
  CommandDoc doc;
  doc.name = "help";
  doc.summary = app.get_description();
  doc.description =
      "Prints the help of a command, with examples, or a topic: exit-codes, environment, "
      "thresholds or units. `hiptool help load all` has every option of a command in full. "
      "`hiptool help HT-COPY-RATE` explains the code of a finding, `hiptool "
      "help codes` prints all of them as Markdown, `hiptool help reference` every command, "
      "`hiptool help man` the manual "
      "page hiptool(1), and `hiptool help man COMMAND` the page of a command.";
  doc.examples = {{"hiptool help load", "options of a command"},
                  {"hiptool help load all", "all about each of them"},
                  {"hiptool help exit-codes", "meaning of the exit codes"},
                  {"hiptool help HT-COPY-RATE", "a code of check or the doctor"},
                  {"hiptool help man load", "the source of a manual page"}};
  doc.arguments = arguments_of(app);
  for (const Command& command : commands()) {
    for (ArgumentDoc& argument : doc.arguments) argument.choices.push_back(command.name);
  }
  doc.arguments.back().choices.emplace_back("all");
  for (const std::string& topic : help_topics()) doc.arguments.front().choices.push_back(topic);
  return doc;
}

}  // namespace

std::string brief_text(const OptionHelp& help) {
  std::string text = help.summary;
  if (!help.values.empty()) {
    text += fmt::format(" [possible values: {}]", fmt::join(help.values, ", "));
  }
  if (!help.usual.empty()) text += fmt::format(" [default: {}]", help.usual);
  return text;
}

std::string whole_text(const OptionHelp& help) {
  OptionHelp whole = help;
  if (!help.details.empty()) whole.summary += "; " + help.details;
  return brief_text(whole);
}

std::string OptionDoc::spelled() const {
  std::string text = short_name;
  if (!short_name.empty() && !long_name.empty()) text += ", ";
  text += long_name;
  if (!value_name.empty()) text += " " + value_name;
  return text;
}

std::string CommandDoc::usage() const {
  std::string text = "hiptool " + name + (options.empty() ? "" : " [options]");
  for (const ArgumentDoc& argument : arguments) {
    const std::string word = argument.name + (argument.is_repeated ? "..." : "");
    text += argument.is_required ? " " + word : " [" + word + "]";
  }
  return text;
}

const CommandDoc& ProgramDoc::command(const std::string& name) const {
  return *std::find_if(commands.begin(), commands.end(),
                       [&](const CommandDoc& doc) { return doc.name == name; });
}

CommandDoc describe_form(CommandDoc command, const Form& form) {
  command.name += " " + form.name;
  command.summary = form.summary;
  command.examples = form.examples;
  ArgumentDoc files = command.arguments.back();
  files.name = form.arguments;
  files.is_required = true;
  files.is_repeated = false;  // the name has its dots
  command.arguments = {std::move(files)};
  std::erase_if(command.options, [&form](const OptionDoc& option) {
    return std::find(form.options.begin(), form.options.end(), option.long_name) ==
           form.options.end();
  });
  return command;
}

ProgramDoc describe(CommandTree& tree) {
  ProgramDoc program;
  program.summary = tree.root().get_description();
  program.common_options = options_of(tree.root());
  for (const Command& command : commands()) {
    CLI::App& app = *tree.root().get_subcommand(command.name);
    program.commands.push_back({command.name, command.summary, command.description,
                                command.examples, arguments_of(app), options_of(app),
                                common_options_for(command, program.common_options),
                                names_of_formats(command.formats),
                                names_of_formats(command.export_formats), command.condensed});
    add_completion_words(command, program.commands.back());
  }
  program.commands.push_back(describe_help(*tree.root().get_subcommand("help")));
  return program;
}

}  // namespace hiptool::cli
