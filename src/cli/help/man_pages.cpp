// SPDX-License-Identifier: MIT
#include "cli/help/man_pages.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <ctime>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/suggest.hpp"
#include "cli/exit_code.hpp"
#include "cli/help/help.hpp"
#include "cli/output/failure.hpp"
#include "hiptool/version.hpp"

namespace hiptool::cli {
namespace {

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

// Lines of at most 80 columns, each sentence on lines of its own, as man(7) wants it: a full stop
// at the end of a line is the end of a sentence.
std::string filled(std::string_view text) {
  constexpr std::size_t columns_max = 80;
  std::istringstream words{std::string(text)};
  std::string lines;
  std::string line;
  for (std::string word; words >> word;) {
    const bool is_after_sentence = !line.empty() && line.back() == '.';
    const std::string escaped = roff(word);
    if (is_after_sentence || (!line.empty() && line.size() + 1 + escaped.size() > columns_max)) {
      lines += line + "\n";
      line.clear();
    }
    line += line.empty() ? escaped : " " + escaped;
  }
  return lines + line + "\n";
}

std::string tagged(const std::string& tag, std::string_view text) {
  return ".TP\n.B " + roff(tag) + "\n" + filled(text);
}

std::string verbatim(const std::string& text) { return ".nf\n" + roff(text) + ".fi\n"; }

// Help topics have 80 columns already, which leaves none for the indentation of a section.
std::string topic(const std::string& name) { return ".in 0\n" + verbatim(topic_text(name)); }

std::string page_name(const std::string& command) {
  return command.empty() ? "hiptool" : "hiptool-" + command;
}

std::string start_of_page(const std::string& command, const std::string& summary,
                          const std::string& date) {
  std::string title = page_name(command);
  std::transform(title.begin(), title.end(), title.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return fmt::format(".TH {} 1 \"{}\" \"hiptool {}\" \"User Commands\"\n.SH NAME\n{} \\-\n{}",
                     roff(title), date, version(), roff(page_name(command)), filled(summary));
}

std::string paragraphs(std::string_view text) {
  std::string result;
  while (true) {
    const std::size_t end = text.find("\n\n");
    result += filled(text.substr(0, end));
    if (end == std::string_view::npos) return result;
    result += ".PP\n";
    text.remove_prefix(end + 2);
  }
}

// A heading for each group but the usual one.
std::string options_of_page(const std::vector<OptionDoc>& options) {
  std::string text;
  std::string group = usual_group;
  for (const OptionDoc& option : options) {
    if (option.group != group) text += ".SS " + roff(option.group) + "\n";
    group = option.group;
    text += tagged(option.spelled(), whole_text(option.help));
  }
  return text;
}

// Comment lines above the command lines; the lines of one command stay together.
std::string examples_of_page(const std::vector<Example>& examples) {
  std::string text;
  bool is_continued = false;
  for (const Example& example : examples) {
    if (!is_continued) {
      const bool has_colon = !example.purpose.empty() && example.purpose.back() == ':';
      text += "# " + example.purpose.substr(0, example.purpose.size() - (has_colon ? 1 : 0)) + "\n";
    }
    text += example.line + "\n";
    is_continued = !example.line.empty() && example.line.back() == '\\';
  }
  return ".SH EXAMPLES\n" + verbatim(text);
}

std::string exit_status(bool is_of_command) {
  std::string text = ".SH EXIT STATUS\n";
  for (const ExitCodeDoc& row : exit_code_docs()) {
    text += tagged(std::to_string(row.exit_code), row.meaning);
  }
  text += ".PP\n" + several_failures_text();
  if (is_of_command) text += ".PP\nAll commands share these codes.\n";
  return text;
}

// References to all pages but one.
std::string see_also(const ProgramDoc& program, const std::string& own_name) {
  std::vector<std::string> names;
  if (!own_name.empty()) names.push_back(page_name(""));
  for (const CommandDoc& command : program.commands) {
    if (command.name != own_name) names.push_back(page_name(command.name));
  }
  std::sort(names.begin(), names.end());
  std::string text = ".SH SEE ALSO\n";
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += ".BR " + roff(names[i]) + " (1)" + (i + 1 < names.size() ? ",\n" : "\n");
  }
  return text;
}

std::string program_page(const ProgramDoc& program, const std::string& date) {
  std::string text = start_of_page("", program.summary, date);
  text += ".SH SYNOPSIS\n.B hiptool\n.I COMMAND\n.RI [ options ]\n";
  text += ".SH DESCRIPTION\n" +
          paragraphs(
              "Checks the GPUs of a machine, loads model files onto them and verifies that every "
              "byte arrived, and measures copies and kernels. It finds the ROCm runtime of AMD "
              "GPUs and the driver of NVIDIA GPUs when it runs; without a GPU it uses the "
              "processor.\n\nResults are written to standard output, everything else to standard "
              "error. The first line of a table is the verdict. With --format json standard "
              "output is one JSON document, also after a failure.");
  text += ".SH COMMANDS\nEach command has a manual page of its own.\n";
  for (const CommandDoc& command : program.commands) {
    text += ".TP\n.BR " + roff(page_name(command.name)) + " (1)\n" + filled(command.summary);
  }
  text += ".SH OPTIONS\nAccepted before and after every command.\n";
  text += options_of_page(program.common_options);
  text += exit_status(false);
  text += ".SH ENVIRONMENT\n" + topic("environment");
  text += ".SH THRESHOLDS\n" + topic("thresholds");
  text += ".SH UNITS\n" + topic("units");
  return text + see_also(program, "");
}

std::string command_page(const ProgramDoc& program, const CommandDoc& command,
                         const std::string& date) {
  std::string text = start_of_page(command.name, command.summary, date);
  text += ".SH SYNOPSIS\n.B hiptool " + roff(command.name) + "\n";
  if (!command.options.empty()) text += ".RI [ options ]\n";
  for (const ArgumentDoc& argument : command.arguments) {
    const std::string dots = argument.is_repeated ? " ..." : "";
    text += argument.is_required
                ? ".IR " + roff(argument.name) + dots + "\n"
                : ".RI [ " + roff(argument.name) + dots + (dots.empty() ? " ]\n" : "]\n");
  }
  text += ".SH DESCRIPTION\n" + paragraphs(command.description);
  if (!command.arguments.empty()) text += ".SH ARGUMENTS\n";
  for (const ArgumentDoc& argument : command.arguments) {
    text += tagged(argument.name, whole_text(argument.help));
  }
  const bool has_options = !command.options.empty() || !command.common_options.empty();
  if (has_options) text += ".SH OPTIONS\n" + options_of_page(command.options);
  text += options_of_page(command.common_options);
  text += exit_status(true);
  text += ".SH ENVIRONMENT\n.BR hiptool (1)\nlists the variables and the defaults they set.\n";
  text += examples_of_page(command.examples);
  return text + see_also(program, command.name);
}

}  // namespace

std::string man_page_text(const ProgramDoc& program, const std::string& command,
                          const std::string& date) {
  if (command.empty()) return program_page(program, date);
  std::vector<std::string> names;
  for (const CommandDoc& doc : program.commands) {
    if (doc.name == command) return command_page(program, doc, date);
    names.push_back(doc.name);
  }
  throw usage_error("unknown command '" + command + "'",
                    join_lines(base::suggestion(command, names), "see 'hiptool help'"));
}

std::string manual_date(const GetEnvironment& environment) {
  const std::string text = environment("SOURCE_DATE_EPOCH").value_or("");
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  const auto time = static_cast<std::time_t>(seconds);
  std::tm day = {};
  if (text.empty() || !is_number || gmtime_r(&time, &day) == nullptr) return "";
  return fmt::format("{:04}-{:02}-{:02}", day.tm_year + 1900, day.tm_mon + 1, day.tm_mday);
}

}  // namespace hiptool::cli
