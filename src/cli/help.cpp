// SPDX-License-Identifier: MIT
#include "cli/help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/text.hpp"
#include "hiptool/version.hpp"
#include "report/text.hpp"

namespace hiptool::cli {
namespace {

constexpr std::size_t left_columns = 28;
constexpr std::size_t widest_text = 100;
constexpr const char* common_heading = "Options of every command:";

std::string heading(const std::string& text, const HelpStyle& style) {
  return styled(text, "1", style.color) + "\n";
}

// "  left    text", the text wrapped in its own column.
std::string two_columns(const std::string& left, const std::string& text, const HelpStyle& style) {
  const std::size_t width = std::clamp(style.width, left_columns + 20, widest_text);
  const std::string next_line = "\n" + std::string(left_columns, ' ');
  std::string result = fmt::format("  {:<{}}", left, left_columns - 2);
  if (left.size() + 2 >= left_columns) result += next_line;
  const std::vector<std::string> lines = report::wrap(text, width - left_columns, 0);
  return result + fmt::format("{}\n", fmt::join(lines, next_line));
}

std::string examples_text(const std::vector<Example>& examples, const HelpStyle& style) {
  std::string text = heading("Examples:", style);
  std::size_t longest = 0;
  for (const Example& example : examples) longest = std::max(longest, example.line.size());
  for (const Example& example : examples) {
    text += fmt::format("  {:<{}}  # {}\n", example.line, longest, example.purpose);
  }
  return text;
}

// Options without a short name are indented, so that the long names form a column.
std::string options_text(const std::vector<OptionDoc>& options, const HelpStyle& style) {
  std::string text;
  for (const OptionDoc& option : options) {
    const char* const indent = option.short_name.empty() ? "    " : "";
    text += two_columns(indent + option.spelled(), option.help, style);
  }
  return text;
}

std::string names_line(const std::string& start, const std::vector<std::string>& names,
                       const HelpStyle& style) {
  const std::string line = fmt::format("{}{}", start, fmt::join(names, ", "));
  const auto lines = report::wrap(line, std::min(style.width, widest_text), 2);
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

// ---- Markdown

std::string options_table(const std::vector<OptionDoc>& options) {
  std::string text = "| option | meaning |\n|---|---|\n";
  for (const OptionDoc& option : options) {
    const std::string name = replaced(option.spelled(), "|", "\\|");
    text += "| `" + name + "` | " + replaced(option.help, "|", "\\|") + " |\n";
  }
  return text + "\n";
}

// ---- man(7)

// Escapes backslashes, hyphens and control characters at the start of a line.
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
                     roff(command.usage()) + "\n";
  for (const ArgumentDoc& argument : command.arguments) {
    text += tagged(argument.name, argument.help);
  }
  for (const OptionDoc& option : command.options) text += tagged(option.spelled(), option.help);
  std::string examples;
  for (const Example& example : command.examples) {
    examples += "# " + example.purpose + "\n" + example.line + "\n";
  }
  if (!examples.empty()) text += ".PP\nExamples:\n.PP\n" + verbatim(examples);
  return text;
}

}  // namespace

std::string overview_text(const ProgramDoc& program, const HelpStyle& style) {
  std::string text = "hiptool: " + program.summary + "\n\n";
  std::vector<Example> examples;
  for (const Command& command : commands()) examples.push_back(command.examples.front());
  text += examples_text(examples, style) + "\n" + heading("Commands:", style);
  for (const CommandDoc& command : program.commands) {
    text += two_columns(command.name, command.summary, style);
  }
  text += "\n" + heading(common_heading, style) + options_text(program.common_options, style);
  return text + "\n" + names_line("More: hiptool help COMMAND, ", help_topics(), style);
}

std::string command_help_text(const CommandDoc& command, const HelpStyle& style) {
  std::string text = "hiptool " + command.name + ": " + command.summary + "\n\n";
  text += examples_text(command.examples, style) + "\nUsage: " + command.usage() + "\n";
  if (!command.arguments.empty()) text += "\n" + heading("Arguments:", style);
  for (const ArgumentDoc& argument : command.arguments) {
    text += two_columns(argument.name, argument.help, style);
  }
  if (!command.options.empty()) {
    text += "\n" + heading("Options:", style) + options_text(command.options, style);
  }
  text += "\n" + heading(common_heading, style) + options_text(command.common_options, style);
  text += "\n" + names_line("Output formats of this command: ", command.formats, style);
  if (command.export_formats.empty()) return text;
  return text + names_line("With --export also: ", command.export_formats, style);
}

std::string reference_text(const ProgramDoc& program) {
  std::string text = "# Command reference\n\nGenerated by `hiptool help reference`.\n\n";
  for (const CommandDoc& command : program.commands) {
    text += "## hiptool " + command.name + "\n\n" + command.summary + "\n\n```\n" +
            command.usage() + "\n";
    if (!command.examples.empty()) text += "\n" + examples_text(command.examples, {});
    text += "```\n\n";
    for (const ArgumentDoc& argument : command.arguments) {
      text += "* `" + argument.name + "`: " + argument.help + "\n";
    }
    if (!command.arguments.empty()) text += "\n";
    if (!command.options.empty()) text += options_table(command.options);
    if (command.formats.empty()) continue;
    text += fmt::format("Formats of `--format`: {}", fmt::join(command.formats, ", "));
    if (!command.export_formats.empty()) {
      text += fmt::format("; of `--export` also: {}", fmt::join(command.export_formats, ", "));
    }
    text += ".\n\n";
  }
  text += "## Options of every command\n\n" + options_table(program.common_options);
  for (const char* topic : {"exit-codes", "environment", "thresholds", "units"}) {
    text += fmt::format("## {}\n\n```\n{}```\n\n", topic, topic_text(topic));
  }
  text.pop_back();  // no empty line at the end
  return text;
}

std::string man_page_text(const ProgramDoc& program) {
  std::string text =
      fmt::format(".TH HIPTOOL 1 \"\" \"hiptool {}\" \"User Commands\"\n", version());
  text += ".SH NAME\nhiptool \\- " + program.summary + "\n";
  text += ".SH SYNOPSIS\n.B hiptool\n.I COMMAND\n[options]\n";
  text += ".SH COMMANDS\n";
  for (const CommandDoc& command : program.commands) text += man_command(command);
  text += ".SH OPTIONS\nAccepted before and after every command.\n";
  for (const OptionDoc& option : program.common_options)
    text += tagged(option.spelled(), option.help);
  text += ".SH EXIT STATUS\n" + verbatim(topic_text("exit-codes"));
  text += ".SH ENVIRONMENT\n" + verbatim(topic_text("environment"));
  text += ".SH THRESHOLDS\n" + verbatim(topic_text("thresholds"));
  return text + ".SH UNITS\n" + verbatim(topic_text("units"));
}

}  // namespace hiptool::cli
