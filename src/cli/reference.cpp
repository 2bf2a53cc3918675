// SPDX-License-Identifier: MIT
#include "cli/reference.hpp"

#include <fmt/format.h>

#include "cli/help.hpp"
#include "hiptool/version.hpp"

namespace hiptool::cli {
namespace {

std::string spelled(const OptionDoc& option) {
  std::string text = option.short_name;
  if (!text.empty() && !option.long_name.empty()) text += ", ";
  text += option.long_name;
  if (!option.value_name.empty()) text += " " + option.value_name;
  return text;
}

std::string usage(const CommandDoc& command) {
  std::string text = "hiptool " + command.name + (command.options.empty() ? "" : " [options]");
  for (const ArgumentDoc& argument : command.arguments) {
    const std::string name = argument.name + (argument.is_repeated ? "..." : "");
    text += argument.is_required ? " " + name : " [" + name + "]";
  }
  return text;
}

std::string options_table(const std::vector<OptionDoc>& options) {
  std::string text = "| option | meaning |\n|---|---|\n";
  for (const OptionDoc& option : options) {
    std::string help;
    for (const char c : option.help) help += c == '|' ? std::string("\\|") : std::string(1, c);
    text += "| `" + spelled(option) + "` | " + help + " |\n";
  }
  return text + "\n";
}

// ---- man(7)

// Backslashes and hyphens have meanings there, and so has a line that begins with a control mark.
std::string roff(std::string_view text) {
  std::string safe;
  bool is_line_start = true;
  for (const char c : text) {
    if (is_line_start && (c == '.' || c == '\'')) safe += "\\&";
    if (c == '\\') {
      safe += "\\e";
    } else if (c == '-') {
      safe += "\\-";
    } else {
      safe += c;
    }
    is_line_start = c == '\n';
  }
  return safe;
}

std::string tagged(const std::string& tag, const std::string& text) {
  return ".TP\n.B " + roff(tag) + "\n" + roff(text) + "\n";
}

std::string verbatim(const std::string& text) { return ".nf\n" + roff(text) + ".fi\n"; }

std::string man_command(const CommandDoc& command) {
  std::string text = ".SS " + command.name + "\n" + roff(command.summary) + "\n.PP\n.B " +
                     roff(usage(command)) + "\n";
  for (const ArgumentDoc& argument : command.arguments) {
    text += tagged(argument.name, argument.help);
  }
  for (const OptionDoc& option : command.options) text += tagged(spelled(option), option.help);
  std::string examples;
  for (const Example& example : command.examples) {
    examples += "# " + example.purpose + "\n" + example.line + "\n";
  }
  if (!examples.empty()) text += ".PP\nExamples:\n.PP\n" + verbatim(examples);
  return text;
}

}  // namespace

std::string reference_text(const std::vector<CommandDoc>& commands,
                           const std::vector<OptionDoc>& common_options) {
  std::string text = "# hiptool\n\nMade by `hiptool help reference`.\n\n";
  for (const CommandDoc& command : commands) {
    text += "## hiptool " + command.name + "\n\n" + command.summary + "\n\n```\n" + usage(command) +
            "\n```\n\n";
    if (!command.examples.empty()) text += "Examples:\n\n```\n";
    for (const Example& example : command.examples) {
      text += example.line + "   # " + example.purpose + "\n";
    }
    if (!command.examples.empty()) text += "```\n\n";
    for (const ArgumentDoc& argument : command.arguments) {
      text += "* `" + argument.name + "`: " + argument.help + "\n";
    }
    if (!command.arguments.empty()) text += "\n";
    if (!command.options.empty()) text += options_table(command.options);
  }
  return text + "## Options of every command\n\n" + options_table(common_options);
}

std::string man_page_text(const std::vector<CommandDoc>& commands,
                          const std::vector<OptionDoc>& common_options) {
  std::string text =
      fmt::format(".TH HIPTOOL 1 \"\" \"hiptool {}\" \"User Commands\"\n", version());
  text += ".SH NAME\nhiptool \\- speaks HIP on AMD, NVIDIA and CPU\n";
  text += ".SH SYNOPSIS\n.B hiptool\n.I COMMAND\n[options]\n";
  text += ".SH COMMANDS\n";
  for (const CommandDoc& command : commands) text += man_command(command);
  text += ".SH OPTIONS\nThese stand before or after every command.\n";
  for (const OptionDoc& option : common_options) text += tagged(spelled(option), option.help);
  text += ".SH EXIT STATUS\n" + verbatim(topic_text("exit-codes"));
  text += ".SH ENVIRONMENT\n" + verbatim(topic_text("environment"));
  text += ".SH THRESHOLDS\n" + verbatim(topic_text("thresholds"));
  return text + ".SH UNITS\n" + verbatim(topic_text("units"));
}

}  // namespace hiptool::cli
