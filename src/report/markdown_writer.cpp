// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <string_view>

#include "report/report.hpp"
#include "report/text.hpp"

namespace hiptool::report {
namespace {

bool is_word(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9');
}

// Backslash escapes of the GitHub Flavored Markdown specification (6.1) for what has a meaning
// inside a line, "$" (mathematics on GitHub) included. An underscore between letters has none.
std::string escaped(std::string_view text) {
  constexpr std::string_view marks = "\\`*<>[]|~&#$";
  const std::string safe = printable(text);
  std::string result;
  for (std::size_t i = 0; i < safe.size(); ++i) {
    const char letter = safe[i];
    const bool is_inside = i > 0 && i + 1 < safe.size();
    const bool is_inner = is_inside && is_word(safe[i - 1]) && is_word(safe[i + 1]);
    const bool has_meaning = marks.find(letter) != std::string_view::npos;
    if (has_meaning || (letter == '_' && !is_inner)) result += '\\';
    result += letter;
  }
  return result;
}

std::string pipe_table(const Table& table) {
  std::string header = "|";
  std::string rule = "|";
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    header.append(" ").append(escaped(table.columns[column].title)).append(" |");
    rule += table.is_number_column(column) ? " ---: |" : " --- |";
  }
  std::string text = header + "\n" + rule + "\n";
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    text += "|";
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      const std::string value = format_value(table.at(row, column), table.columns[column].unit);
      text.append(" ").append(escaped(value)).append(" |");
    }
    text += "\n";
  }
  return text;
}

// Without the blanks around it: two asterisks next to a blank do not make emphasis.
std::string_view trimmed(std::string_view text) {
  const std::size_t start = std::min(text.find_first_not_of(' '), text.size());
  return text.substr(start, text.find_last_not_of(' ') + 1 - start);
}

void add_block(std::string& text, std::string_view start, std::string_view block,
               std::string_view end) {
  if (block.empty()) return;
  if (!text.empty()) text += "\n";
  text.append(start).append(block).append(end);
}

}  // namespace

std::string to_markdown(const Report& report) {
  std::string text;
  for (const Line& line : verdict_lines(report)) {
    add_block(text, "**", escaped(trimmed(line.text)), "**\n");
  }
  for (const Table& table : report.tables) {
    add_block(text, "### ", escaped(table.title), "\n");
    if (!table.rows.empty() && !table.columns.empty()) {
      add_block(text, "", pipe_table(table), "");
    } else if (!table.title.empty()) {
      add_block(text, "", "(none)", "\n");
    }
  }
  std::string notes;
  for (const Line& line : report.notes) {
    if (!line.text.empty()) notes.append("- ").append(escaped(line.text)).append("\n");
  }
  add_block(text, "", notes, "");
  return text;
}

}  // namespace hiptool::report
