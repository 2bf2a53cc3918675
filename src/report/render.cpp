// SPDX-License-Identifier: MIT
#include "report/document.hpp"
#include "report/reader.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "report/remarks.hpp"

namespace hiptool::report {
namespace {

// The head, which writers show in their own way.
constexpr std::array<std::string_view, 11> head{"schema",     "tool",        "host",    "error",
                                                "started_at", "status",      "context", "exit_code",
                                                "passed",     "measured_on", "shown"};

Unit unit_of(std::string_view key) {
  if (key.ends_with("flops_per_s")) return Unit::operations;
  if (key.ends_with("_per_s")) return Unit::rate;
  if (key.ends_with("bytes")) return Unit::size;
  if (key.ends_with("_s") && !key.ends_with("gt_s")) return Unit::duration;
  if (key.ends_with("_hz")) return Unit::frequency;
  if (key.starts_with("share_") || key == "overlap" || key == "cv" || key == "effect" ||
      key == "change" || key == "deviation") {
    return Unit::share;
  }
  return Unit::none;
}

// "median_bytes_per_s" to "median rate", "size_bytes" to "size": the values have the unit.
std::string title_of(std::string key) {
  const Unit unit = unit_of(key);
  const std::array<std::pair<Unit, std::string_view>, 5> endings{{{Unit::rate, "bytes_per_s"},
                                                                  {Unit::operations, "flops_per_s"},
                                                                  {Unit::size, "_bytes"},
                                                                  {Unit::duration, "_s"},
                                                                  {Unit::frequency, "_hz"}}};
  for (const auto& [ending_unit, ending] : endings) {
    if (unit != ending_unit || !key.ends_with(ending)) continue;
    key.erase(key.size() - ending.size());
    if (unit == Unit::rate) key += "rate";
    if (unit == Unit::operations) key += "operations";
  }
  std::replace(key.begin(), key.end(), '_', ' ');
  return key;
}

bool is_shown(const Value& value) {
  if (value.is_absent()) return false;
  const auto* list = std::get_if<Array>(&value.data());
  if (list == nullptr) return true;
  // Long lists are samples; a few words or numbers (a shape) can be read.
  return !list->empty() && list->size() <= 8 && number_of(list->front()) == std::nullopt;
}

// With what only its kind has besides what all have.
Object with_details(const Object& fields) {
  Object flat;
  for (const auto& [key, value] : fields) {
    const auto* details = key == "details" ? std::get_if<Object>(&value.data()) : nullptr;
    if (details == nullptr) {
      flat.emplace_back(key, value);
    } else {
      flat.insert(flat.end(), details->begin(), details->end());
    }
  }
  return flat;
}

Table list_table(const std::string& name, const Array& list) {
  Table table;
  table.title = title_of(name);
  std::map<std::string, std::size_t> places;
  std::vector<Object> objects;
  for (const Value& entry : list) {
    if (const auto* members = std::get_if<Object>(&entry.data())) {
      objects.push_back(with_details(*members));
    }
  }
  for (const Object& members : objects) {
    for (const auto& [key, value] : members) {
      if (table.columns.size() == most_columns) break;
      if (!is_shown(value) || !places.emplace(key, table.columns.size()).second) continue;
      table.columns.push_back({key, title_of(key), unit_of(key)});
    }
  }
  for (Object& members : objects) {
    auto& row = table.rows.emplace_back(table.columns.size());
    for (auto& [key, value] : members) {
      const auto place = places.find(key);
      if (place != places.end() && is_shown(value)) row[place->second] = std::move(value);
    }
  }
  return table;
}

// One line for each member; their units differ, so values are made text here.
Table object_table(const std::string& name, const Object& members) {
  Table table{title_of(name), {{"field", "field", Unit::none}, {"value", "value", Unit::none}}, {}};
  for (const auto& [key, value] : members) {
    const auto* list = std::get_if<Array>(&value.data());
    if (!is_shown(value) || list != nullptr) continue;
    table.rows.push_back({title_of(key), format_value(value, unit_of(key))});
  }
  return table;
}

Line summary_line(const Report& report) {
  const std::string verdict = text_of(member(report.document, "verdict"));
  std::map<std::string_view, std::size_t> counts;
  for (const Measurement& one : report.measurements) ++counts[to_string(one.status)];
  std::string text =
      report.run.command + " ended " + (verdict.empty() ? report.run.status : verdict);
  const char* separator = ": ";
  for (const auto& [name, count] : counts) {
    text.append(separator).append(std::to_string(count)).append(" ");
    text += name.empty() ? "without status" : name;
    separator = ", ";
  }
  return {verdict == "AMBIGUOUS" ? Tone::warning : Tone::good, text};
}

}  // namespace

Report render_report(Object document) {
  Report report = read_report(std::move(document));
  report.verdict = {summary_line(report)};
  const std::string error = report.run.error_message();
  if (!error.empty()) report.verdict.push_back({Tone::bad, error});
  Object single;
  for (const auto& [name, value] : report.document) {
    if (std::find(head.begin(), head.end(), name) != head.end()) continue;
    if (const auto* list = std::get_if<Array>(&value.data())) {
      Table table = list_table(name, *list);
      if (!table.columns.empty()) report.tables.push_back(std::move(table));
    } else if (const auto* members = std::get_if<Object>(&value.data())) {
      Table table = object_table(name, *members);
      if (!table.rows.empty()) report.tables.push_back(std::move(table));
    } else {
      single.emplace_back(name, value);
    }
  }
  Table table = object_table("", single);
  if (!table.rows.empty()) report.tables.insert(report.tables.begin(), std::move(table));
  for (const Failure& failure : report.run.failures) {
    report.verdict.push_back({Tone::bad, failure_text(failure)});
  }
  report.verdict = verdict_lines(report);
  std::vector<Remark> remarks;
  for (const Measurement& one : report.measurements) add_share_remark(one, remarks);
  for (const LoadedModel& one : report.models) {
    if (one.share_of_limit.value_or(0) <= 1) continue;
    remarks.push_back({Tone::plain, "share above 1: ", one.path, {}, one.share_reason});
  }
  for (Line& line : lines_of(remarks)) report.notes.push_back(std::move(line));
  return report;
}

}  // namespace hiptool::report
