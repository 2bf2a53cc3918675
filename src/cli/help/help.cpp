// SPDX-License-Identifier: MIT
#include "cli/help/help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/contains.hpp"
#include "base/text.hpp"
#include "cli/output/console.hpp"
#include "report/text.hpp"

namespace hiptool::cli {
namespace {

constexpr std::size_t left_columns = 28;
constexpr std::size_t widest_text = 100;
constexpr std::size_t most_brief_examples = 6;

std::string heading(const std::string& text, const HelpStyle& style) {
  return styled(text, "1", style.color) + "\n";
}

// Wide terminals get lines that are comfortable to read; a pipe gets them whole.
std::size_t text_width(const HelpStyle& style) {
  if (style.width >= unlimited_columns) return style.width;
  return std::clamp(style.width, left_columns + 20, widest_text);
}

// "  left    text", the text wrapped in its own column.
std::string two_columns(const std::string& left, const std::string& text, const HelpStyle& style) {
  const std::string next_line = "\n" + std::string(left_columns, ' ');
  std::string result = fmt::format("  {:<{}}", left, left_columns - 2);
  if (left.size() + 2 >= left_columns) result += next_line;
  const std::vector<std::string> lines = report::wrap(text, text_width(style) - left_columns, 0);
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

// The lines of one command stay together.
std::vector<Example> first_examples(std::vector<Example> examples) {
  std::size_t count = std::min(examples.size(), most_brief_examples);
  const auto is_continued = [&](std::size_t i) { return examples[i].line.ends_with('\\'); };
  while (count > 0 && count < examples.size() && is_continued(count - 1)) --count;
  examples.resize(count);
  return examples;
}

// Options without a short name are indented, so that the long names form a column.
std::string option_text(const OptionDoc& option, const HelpStyle& style) {
  const char* const indent = option.short_name.empty() ? "    " : "";
  const std::string text = style.is_brief ? brief_text(option.help) : whole_text(option.help);
  return two_columns(indent + option.spelled(), text, style);
}

// "  --grid X,Y,Z, --block X,Y,Z", wrapped.
std::string names_text(const std::vector<const OptionDoc*>& options, const HelpStyle& style) {
  std::string line;
  for (const OptionDoc* option : options) {
    // What belongs together stays on a line.
    const std::string name = base::replaced(option->spelled(), " ", "~");
    line += (line.empty() ? "" : ", ") + name;
  }
  std::string text;
  for (const std::string& one : report::wrap(line, text_width(style) - 2, 0)) {
    text += "  " + base::replaced(one, "~", " ") + "\n";
  }
  return text;
}

// A heading for each group; in the short help the condensed ones have no more than the names.
std::string groups_text(const std::vector<OptionDoc>& options,
                        const std::vector<std::string>& condensed, const HelpStyle& style) {
  std::vector<std::string> groups;
  for (const OptionDoc& option : options) base::add_once(groups, option.group);
  std::string text;
  for (const std::string& group : groups) {
    std::vector<const OptionDoc*> members;
    for (const OptionDoc& option : options) {
      if (option.group == group) members.push_back(&option);
    }
    const bool is_condensed =
        style.is_brief && std::find(condensed.begin(), condensed.end(), group) != condensed.end();
    text += (text.empty() ? "" : "\n") + heading(group + ":", style);
    if (is_condensed) {
      text += names_text(members, style);
      continue;
    }
    for (const OptionDoc* member : members) text += option_text(*member, style);
  }
  return text;
}

std::string names_line(const std::string& start, const std::vector<std::string>& names,
                       const HelpStyle& style) {
  const std::string line = fmt::format("{}{}", start, fmt::join(names, ", "));
  const auto lines = report::wrap(line, text_width(style), 2);
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

std::string options_table(const std::vector<OptionDoc>& options) {
  std::string text = "| option | meaning |\n|---|---|\n";
  for (const OptionDoc& option : options) {
    const std::string name = base::replaced(option.spelled(), "|", "\\|");
    text += "| `" + name + "` | " + base::replaced(whole_text(option.help), "|", "\\|") + " |\n";
  }
  return text + "\n";
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
  text += "\n" + groups_text(program.common_options, {}, style);
  return text + "\n" + names_line("More: hiptool help COMMAND, ", help_topics(), style);
}

std::string command_help_text(const CommandDoc& command, const HelpStyle& style) {
  const auto examples = style.is_brief ? first_examples(command.examples) : command.examples;
  std::string text = "hiptool " + command.name + ": " + command.summary + "\n\n";
  text += examples_text(examples, style) + "\nUsage: " + command.usage() + "\n";
  if (!command.arguments.empty()) text += "\n" + heading("Arguments:", style);
  for (const ArgumentDoc& argument : command.arguments) {
    const std::string help = style.is_brief ? brief_text(argument.help) : whole_text(argument.help);
    text += two_columns(argument.name, help, style);
  }
  if (!command.options.empty()) {
    text += "\n" + groups_text(command.options, command.condensed, style);
  }
  std::vector<OptionDoc> common = command.common_options;
  for (OptionDoc& option : common) {
    // Longer than all else that most people look for.
    if (style.is_brief && option.long_name == "--export") option.help.values.clear();
  }
  text += "\n" + groups_text(common, {more_common_options}, style);
  if (!style.is_brief) return text;
  const std::string name = command.name.substr(0, command.name.find(' '));
  return text + fmt::format("\nAll about each option: hiptool help {} all\n", name);
}

std::string reference_text(const ProgramDoc& program) {
  std::string text = "# Command reference\n\nGenerated by `hiptool help reference`.\n\n";
  for (const CommandDoc& command : program.commands) {
    text += "## hiptool " + command.name + "\n\n" + command.summary + "\n\n```\n" +
            command.usage() + "\n";
    if (!command.examples.empty()) text += "\n" + examples_text(command.examples, {});
    text += "```\n\n";
    for (const ArgumentDoc& argument : command.arguments) {
      text += "* `" + argument.name + "`: " + whole_text(argument.help) + "\n";
    }
    if (!command.arguments.empty()) text += "\n";
    if (!command.options.empty()) text += options_table(command.options);
    for (const OptionDoc& option : command.common_options) {
      if (option.long_name != "--device") continue;
      text += fmt::format("Default of `--device`: {}.\n\n", option.help.usual);
    }
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

}  // namespace hiptool::cli
