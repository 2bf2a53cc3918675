// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/suggest.hpp"
#include "base/utf8.hpp"
#include "report/document.hpp"
#include "report/text.hpp"
#include "results/model/facts.hpp"

namespace hiptool::results {
namespace {

using report::Array;
using report::Unit;
using report::Value;

constexpr std::uint64_t most_shown_elements = 8;
constexpr std::size_t smallest_value_columns = 24;
constexpr std::size_t column_gap = 2;  // of tables

template <typename Elements>
Value array_value(const Elements& elements) {
  return Array(elements.begin(), elements.end());
}

// One line for people: texts of an array in quotation marks, "..." for what is left out.
std::string shown_value(const Value& value, bool is_whole, std::size_t columns, bool unicode) {
  if (value.is_absent()) return "(arrays)";
  const auto* elements = std::get_if<Array>(&value.data());
  if (elements == nullptr) return report::format_value(value, Unit::none);
  std::string text;
  for (const Value& element : *elements) {
    if (!text.empty()) text += ", ";
    const auto* word = std::get_if<std::string>(&element.data());
    text += word == nullptr ? report::format_value(element, Unit::none)
                            : "\"" + shown_text(*word, columns, unicode) + "\"";
  }
  return is_whole ? text : text + ", ...";
}

std::string type_name_of(const MetadataEntry& entry) {
  if (!entry.is_array) return std::string(entry.type);
  return fmt::format("{}[{}]", entry.type, entry.count);
}

// Shortest digits of the stored precision: 1e-05, not 9.999999747378752e-06.
std::string number_text(const Value& value, std::string_view type) {
  const auto* real = std::get_if<double>(&value.data());
  if (real == nullptr) return report::format_value(value, Unit::none);
  return type == "f32" ? fmt::format("{}", static_cast<float>(*real)) : report::exact_text(*real);
}

const MetadataEntry& find_entry(const std::vector<MetadataEntry>& entries, const std::string& key) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const MetadataEntry& entry) { return entry.key == key; });
  if (found != entries.end()) return *found;
  std::vector<std::string> keys;
  for (const MetadataEntry& entry : entries) keys.push_back(entry.key);
  std::string hint = base::suggestion(key, keys);
  if (hint.empty()) hint = "list the keys with --metadata";
  throw Error(ErrorCode::not_found, "inspect", "the model has no metadata key '" + key + "'", hint);
}

}  // namespace

std::string cut_to_width(std::string_view text, std::size_t columns, bool unicode) {
  if (report::display_width(text) <= columns) return std::string(text);
  const std::string_view end = unicode ? "…" : "...";
  const std::size_t room = columns - std::min(columns, report::display_width(end));
  std::size_t bytes = 0;
  std::size_t used = 0;
  while (bytes < text.size()) {
    const std::string_view rest = text.substr(bytes);
    const std::size_t length = std::max<std::size_t>(base::first_code_point(rest).bytes, 1);
    used += report::display_width(rest.substr(0, length));
    if (used > room) break;
    bytes += length;
  }
  return std::string(text.substr(0, bytes)).append(end);
}

std::string shown_text(std::string_view text, std::size_t columns, bool unicode) {
  constexpr std::size_t most_bytes_of_column = 8;  // a letter with some accents
  std::string_view start = text;
  if (columns < start.size() / most_bytes_of_column) {
    std::size_t end = columns * most_bytes_of_column;
    while (end > 0 && (static_cast<unsigned char>(start[end]) & 0xC0) == 0x80) --end;
    start = start.substr(0, end);
  }
  start = start.substr(0, start.find('\n'));
  const std::string end = start.size() < text.size() ? (unicode ? " …" : " ...") : "";
  return cut_to_width(report::printable(start) + end, columns, unicode);
}

Value metadata_value(const ModelFile& model, const MetadataEntry& entry,
                     std::uint64_t most_elements) {
  const std::string& key = entry.key;
  if (!entry.is_array) {
    if (auto text = model.text(key)) return std::move(*text);
    if (const auto number = model.unsigned_integer(key)) return *number;
    if (const auto number = model.integer(key)) return *number;
    if (const auto number = model.real(key)) return *number;
    return model.boolean(key);
  }
  if (const auto texts = model.texts(key, 0, most_elements)) return array_value(*texts);
  if (const auto numbers = model.unsigned_integers(key, 0, most_elements)) {
    return array_value(*numbers);
  }
  if (const auto numbers = model.integers(key, 0, most_elements)) return array_value(*numbers);
  if (const auto numbers = model.reals(key, 0, most_elements)) return array_value(*numbers);
  if (const auto flags = model.booleans(key, 0, most_elements)) {
    return report::array_of(*flags, [](bool flag) { return flag; });
  }
  return {};
}

report::Table metadata_table(const ModelFacts& facts, std::size_t width, bool unicode) {
  report::Table table{"Metadata", {{"key", "Key"}, {"type", "Type"}, {"value", "Value"}}, {}};
  const std::vector<MetadataEntry> entries = facts.model.metadata();
  std::size_t key_columns = 0;
  std::size_t type_columns = table.columns[1].title.size();
  for (const MetadataEntry& entry : entries) {
    key_columns = std::max(key_columns, report::display_width(report::printable(entry.key)));
    type_columns = std::max(type_columns, type_name_of(entry).size());
  }
  const std::size_t used = key_columns + type_columns + 2 * column_gap;
  const std::size_t columns = std::max(width - std::min(width, used), smallest_value_columns);
  for (const MetadataEntry& entry : entries) {
    const Value value = metadata_value(facts.model, entry, most_shown_elements);
    const auto* whole = std::get_if<std::string>(&value.data());
    const bool is_whole = entry.count <= most_shown_elements;
    const std::string text = whole != nullptr ? shown_text(*whole, columns, unicode)
                             : entry.is_array ? shown_value(value, is_whole, columns, unicode)
                                              : number_text(value, entry.type);
    table.rows.push_back({entry.key, type_name_of(entry), cut_to_width(text, columns, unicode)});
  }
  return table;
}

report::Table full_metadata_table(const ModelFacts& facts, const std::string& key) {
  report::Table table =
      report::table_of_keys({"model", "key", "type", "is_array", "count", "value", "is_shortened"});
  const std::uint64_t most = key.empty() ? most_shown_elements : UINT64_MAX;
  for (const MetadataEntry& entry : facts.model.metadata()) {
    if (!key.empty() && entry.key != key) continue;
    table.rows.push_back({facts.path, entry.key, entry.type, entry.is_array, entry.count,
                          metadata_value(facts.model, entry, most),
                          entry.is_array && entry.count > most});
  }
  return table;
}

std::string value_text(const ModelFacts& facts, const std::string& key, bool is_exact) {
  const std::vector<MetadataEntry> entries = facts.model.metadata();
  const MetadataEntry& entry = find_entry(entries, key);
  const Value value = metadata_value(facts.model, entry, UINT64_MAX);
  if (const auto* text = std::get_if<std::string>(&value.data())) {
    const std::string end = text->ends_with('\n') ? "" : "\n";
    return (is_exact ? *text : report::printable_lines(*text, SIZE_MAX)) + end;
  }
  const auto* elements = std::get_if<Array>(&value.data());
  if (elements == nullptr) return number_text(value, entry.type) + "\n";
  std::string lines;
  for (const Value& element : *elements) lines += number_text(element, entry.type) + "\n";
  return lines;
}

}  // namespace hiptool::results
