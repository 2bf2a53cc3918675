// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "report/document.hpp"
#include "report/report.hpp"
#include "report/text.hpp"

namespace hiptool::report {
namespace {

bool is_number_text(std::string_view text) {
  double number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  return result.ec != std::errc::invalid_argument && result.ptr == text.data() + text.size();
}

// Text that a spreadsheet would run as a formula gets an apostrophe in front (OWASP, CSV injection;
// the last four are the full-width forms). Tab and CR are \x09 and \x0D in printable text.
std::string cell_text(std::string_view text) {
  constexpr std::array<std::string_view, 8> starts{"=",      "+",      "-",      "@",
                                                   "\uff1d", "\uff0b", "\uff0d", "\uff20"};
  std::string safe = printable(text);
  std::string_view start = safe;
  start.remove_prefix(std::min(start.find_first_not_of(' '), start.size()));
  const bool is_formula = std::any_of(starts.begin(), starts.end(), [start](std::string_view one) {
    return start.starts_with(one);
  });
  if (is_formula && !is_number_text(safe)) safe.insert(0, 1, '\'');
  return safe;
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
          return std::isfinite(data) ? exact_text(data) : std::string();
        else if constexpr (std::is_same_v<Type, std::string>)
          return cell_text(data);
        else if constexpr (std::is_integral_v<Type>)
          return std::to_string(data);
        else
          return cell_text(json_text(value));
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

std::size_t place_of(const Column& column, std::vector<Column>& columns) {
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [&](const Column& one) { return one.key == column.key; });
  const auto place = static_cast<std::size_t>(found - columns.begin());
  if (found == columns.end()) columns.push_back(column);
  return place;
}

// The rows of all tables under the columns of all of them, after the title of their table.
Table joined(const std::vector<Table>& tables) {
  Table all;
  all.columns.push_back({"table", "Table", Unit::none});
  for (const Table& table : tables) {
    std::vector<std::size_t> places;
    for (const Column& column : table.columns) places.push_back(place_of(column, all.columns));
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      std::vector<Value>& values = all.rows.emplace_back(all.columns.size());
      values[0] = table.title;
      for (std::size_t column = 0; column < places.size(); ++column) {
        values[places[column]] = table.at(row, column);
      }
    }
  }
  return all;
}

Table one_table(const std::vector<Table>& tables) {
  if (tables.empty()) return {};
  return tables.size() == 1 ? tables.front() : joined(tables);
}

void add_verdict(const Run& run, Table& table) {
  const std::size_t width = table.columns.size();
  table.columns.push_back({"exit_code", "Exit code", Unit::none});
  table.columns.push_back({"passed", "Passed", Unit::none});
  if (table.rows.empty()) table.rows.emplace_back();
  for (std::vector<Value>& row : table.rows) {
    row.resize(width);
    row.emplace_back(run.exit_code);
    row.emplace_back(run.passed);
  }
}

}  // namespace

const Array* results_of(const Object& document) {
  for (const char* name : {"measurements", "comparisons"}) {
    const auto* values = std::get_if<Array>(&member(document, name).data());
    if (values != nullptr) return values;
  }
  return nullptr;
}

Table table_of_csv(const Report& report) {
  if (report.csv_tables) return one_table(*report.csv_tables);
  const Array* results = results_of(report.document);
  return results != nullptr ? table_of_objects(*results) : one_table(report.tables);
}

std::string to_csv(const Report& report) {
  Table table = table_of_csv(report);
  add_verdict(report.run, table);
  std::string text;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    text += (column > 0 ? "," : "") + quoted(cell_text(table.columns[column].key));
  }
  text += "\n";
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      text += (column > 0 ? "," : "") + quoted(raw(table.at(row, column)));
    }
    text += "\n";
  }
  return text;
}

}  // namespace hiptool::report
