// SPDX-License-Identifier: MIT
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <type_traits>

#include "report/cells.hpp"
#include "report/report.hpp"
#include "report/text.hpp"

namespace hiptool::report {
namespace {

// The shortest digits that read back as the same number, whatever the locale.
std::string exact_number(double value) {
  std::array<char, 48> text;
  const auto result = std::to_chars(text.data(), text.data() + text.size(), value);
  return std::string(text.data(), result.ptr);
}

std::string raw(const Value& value) {
  return std::visit(
      [&value](const auto& data) -> std::string {
        using Type = std::decay_t<decltype(data)>;
        if constexpr (std::is_same_v<Type, std::monostate>)
          return {};
        else if constexpr (std::is_same_v<Type, bool>)
          return data ? "true" : "false";
        else if constexpr (std::is_same_v<Type, double>)
          return std::isfinite(data) ? exact_number(data) : std::string();
        else if constexpr (std::is_same_v<Type, std::string>)
          return printable(data);
        else if constexpr (std::is_integral_v<Type>)
          return std::to_string(data);
        else
          return printable(json_text(value));
      },
      value.data());
}

// RFC 4180 2.5 to 2.7. Line ends inside a field cannot occur: printable() has rewritten them.
std::string quoted(const std::string& field) {
  const bool has_edge_blank = !field.empty() && (field.front() == ' ' || field.back() == ' ');
  if (field.find_first_of(",\"") == std::string::npos && !has_edge_blank) return field;
  std::string text = "\"";
  for (const char letter : field) text.append(letter == '"' ? 2 : 1, letter);
  return text + "\"";
}

}  // namespace

std::string to_csv(const Report& report) {
  std::string text;
  for (const Table& table : report.tables) {
    if (!text.empty()) text += "\n";
    const std::size_t columns = table.columns.size();
    for (std::size_t column = 0; column < columns; ++column) {
      if (column > 0) text += ",";
      text += quoted(printable(table.columns[column].key));
    }
    text += "\n";
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      std::string line;
      for (std::size_t column = 0; column < columns; ++column) {
        if (column > 0) line += ",";
        line += quoted(raw(cell(table, row, column)));
      }
      // An empty line would read as the end of the table.
      text += (line.empty() ? "\"\"" : line) + "\n";
    }
  }
  return text;
}

}  // namespace hiptool::report
