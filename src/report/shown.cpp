// SPDX-License-Identifier: MIT
#include "report/shown.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "report/document.hpp"
#include "report/text.hpp"

namespace hiptool::report {
namespace {

// In the order of the enums.
constexpr std::array<std::string_view, 4> tone_words{"plain", "good", "warning", "bad"};
constexpr std::array<std::string_view, 9> unit_words{
    "none", "count", "size", "rate", "duration", "share", "frequency", "operations", "hundredths"};

template <class Enum, std::size_t count>
std::optional<Enum> enum_of(const Value& word, const std::array<std::string_view, count>& words) {
  const auto found = std::find(words.begin(), words.end(), text_of(word));
  if (found == words.end()) return std::nullopt;
  return static_cast<Enum>(found - words.begin());
}

template <class Enum, std::size_t count>
Value word_of(Enum value, const std::array<std::string_view, count>& words) {
  return words[static_cast<std::size_t>(value)];
}

// JSON cannot carry texts that are no UTF-8; writers show all of them in this form.
Value safe_value(const Value& value) {
  const auto* text = std::get_if<std::string>(&value.data());
  return text == nullptr ? value : Value(printable(*text));
}

Array lines_value(const std::vector<Line>& lines) {
  return array_of(lines, [](const Line& line) {
    return Object{{"tone", word_of(line.tone, tone_words)}, {"text", printable(line.text)}};
  });
}

Object table_value(const Table& table) {
  const auto column_value = [](const Column& column) {
    Object fields{{"key", column.key},
                  {"title", printable(column.title)},
                  {"unit", word_of(column.unit, unit_words)},
                  {"may_be_cut", column.may_be_cut}};
    if (column.may_be_left_out) fields.emplace_back("may_be_left_out", true);
    return fields;
  };
  const auto row_value = [](const std::vector<Value>& row) { return array_of(row, safe_value); };
  Object fields{{"title", printable(table.title)},
                {"columns", array_of(table.columns, column_value)},
                {"rows", array_of(table.rows, row_value)}};
  if (!table.heat.empty()) {
    fields.emplace_back("heat", array_of(table.heat, [](const std::vector<double>& row) {
                          return Array(row.begin(), row.end());
                        }));
  }
  if (!table.tones.empty()) {
    const auto word = [](Tone tone) { return word_of(tone, tone_words); };
    fields.emplace_back("tones", array_of(table.tones, [word](const std::vector<Tone>& row) {
                          return array_of(row, word);
                        }));
  }
  if (table.is_detail) fields.emplace_back("is_detail", true);
  return fields;
}

// In CSV a column has no more than its key.
Object csv_value(Table table) {
  const auto key = [](const Column& column) { return Value(printable(column.key)); };
  const auto row_value = [](const std::vector<Value>& row) { return array_of(row, safe_value); };
  for (auto& row : table.rows) row.resize(table.columns.size());
  return {{"columns", array_of(table.columns, key)}, {"rows", array_of(table.rows, row_value)}};
}

bool is_true(const Value& value) {
  const auto* flag = std::get_if<bool>(&value.data());
  return flag != nullptr && *flag;
}

std::optional<std::vector<Line>> read_lines(const Value& value) {
  const auto* list = std::get_if<Array>(&value.data());
  if (list == nullptr) return std::nullopt;
  std::vector<Line> lines;
  for (const Value& entry : *list) {
    const auto tone = enum_of<Tone>(member(entry, "tone"), tone_words);
    if (!tone) return std::nullopt;
    lines.push_back({*tone, text_of(member(entry, "text"))});
  }
  return lines;
}

std::optional<Table> read_table(const Value& value) {
  Table table;
  table.title = text_of(member(value, "title"));
  for (const Value& entry : elements(member(value, "columns"))) {
    const auto unit = enum_of<Unit>(member(entry, "unit"), unit_words);
    if (!unit) return std::nullopt;
    table.columns.push_back({text_of(member(entry, "key")), text_of(member(entry, "title")), *unit,
                             is_true(member(entry, "may_be_cut")),
                             is_true(member(entry, "may_be_left_out"))});
  }
  for (const Value& row : elements(member(value, "rows"))) table.rows.push_back(elements(row));
  for (const Value& row : elements(member(value, "heat"))) {
    auto& shares = table.heat.emplace_back();
    for (const Value& share : elements(row)) {
      shares.push_back(std::clamp(number_of(share).value_or(0), 0.0, 1.0));
    }
  }
  for (const Value& row : elements(member(value, "tones"))) {
    auto& tones = table.tones.emplace_back();
    for (const Value& word : elements(row)) {
      tones.push_back(enum_of<Tone>(word, tone_words).value_or(Tone::plain));
    }
  }
  table.is_detail = is_true(member(value, "is_detail"));
  return table;
}

// Rows that are shorter than the columns would make CSV larger than the document, by any factor.
std::optional<Table> read_csv(const Value& value) {
  const auto* columns = std::get_if<Array>(&member(value, "columns").data());
  const auto* rows = std::get_if<Array>(&member(value, "rows").data());
  if (columns == nullptr || rows == nullptr) return std::nullopt;
  Table table;
  for (const Value& key : *columns) table.columns.push_back({text_of(key), text_of(key)});
  for (const Value& row : *rows) {
    table.rows.push_back(elements(row));
    if (table.rows.back().size() != columns->size()) return std::nullopt;
  }
  return table;
}

}  // namespace

Object shown_value(const Report& report) {
  Object fields{{"lines", lines_value(verdict_lines(report))},
                {"tables", array_of(report.tables, table_value)},
                {"notes", lines_value(report.notes)}};
  const bool has_rows = !report.csv_tables && results_of(report.document) != nullptr;
  if (!has_rows) fields.emplace_back("csv", csv_value(table_of_csv(report)));
  return fields;
}

bool read_shown(const Value& shown, Report& report) {
  auto lines = read_lines(member(shown, "lines"));
  auto notes = read_lines(member(shown, "notes"));
  const auto* list = std::get_if<Array>(&member(shown, "tables").data());
  if (!lines || !notes || list == nullptr) return false;
  std::vector<Table> tables;
  for (const Value& entry : *list) {
    std::optional<Table> table = read_table(entry);
    if (!table) return false;
    tables.push_back(std::move(*table));
  }
  const Value& csv = member(shown, "csv");
  std::optional<Table> rows = read_csv(csv);
  if (!csv.is_absent() && !rows) return false;
  if (rows) report.csv_tables = {std::move(*rows)};
  report.verdict = std::move(*lines);
  // Of a run that did not pass the first line was written as a bad one, with its word.
  if (!report.verdict.empty()) {
    report.verdict.front().names_failure = report.verdict.front().tone == Tone::bad;
  }
  report.tables = std::move(tables);
  report.notes = std::move(*notes);
  report.verdict = verdict_lines(report);
  return true;
}

}  // namespace hiptool::report
