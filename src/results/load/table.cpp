// SPDX-License-Identifier: MIT
#include "results/load/table.hpp"

#include <array>
#include <string_view>
#include <utility>
#include <variant>

#include "report/tree.hpp"

namespace hiptool::results {
namespace {

struct Cell {
  std::string_view column;
  std::string_view object;  // empty: the document itself
  std::string_view field;
};

constexpr std::array cells{
    Cell{"status", "", "status"},
    Cell{"path", "model", "path"},
    Cell{"format", "model", "format"},
    Cell{"architecture", "model", "architecture"},
    Cell{"files", "model", "files"},
    Cell{"tensors", "model", "tensors"},
    Cell{"parameters", "model", "parameters"},
    Cell{"bytes", "model", "bytes"},
    Cell{"split", "", "split"},
    Cell{"verify_mode", "verify", "mode"},
    Cell{"digest", "verify", "digest"},
    Cell{"nan", "values", "nan"},
    Cell{"inf", "values", "inf"},
    Cell{"load_time_s", "", "load_time_s"},
    Cell{"verdict_time_s", "", "verdict_time_s"},
    Cell{"wall_time_s", "", "wall_time_s"},
    Cell{"bytes_per_s", "", "bytes_per_s"},
    Cell{"share_of_limit", "", "share_of_limit"},
    Cell{"h2d_bytes_per_s", "limits", "h2d_bytes_per_s"},
    Cell{"read_bytes_per_s", "limits", "read_bytes_per_s"},
    Cell{"error_code", "error", "code"},
    Cell{"error_message", "error", "message"},
};

std::string device_ids(const report::Object& document) {
  std::string ids;
  for (const report::Value& device : report::elements(report::member(document, "devices"))) {
    ids += (ids.empty() ? "" : ",") + report::text_of(report::member(device, "id"));
  }
  return ids;
}

// That of one model.
report::Table table_of_model(const report::Object& document) {
  report::Table table;
  auto& row = table.rows.emplace_back();
  const auto add = [&](std::string_view column, report::Value value) {
    table.columns.push_back({std::string(column), std::string(column), report::Unit::none});
    row.push_back(std::move(value));
  };
  for (const Cell& cell : cells) {
    const report::Value& value =
        cell.object.empty() ? report::member(document, cell.field)
                            : report::member(report::member(document, cell.object), cell.field);
    // One of several models has its path also where it could not be opened.
    const bool lacks_path = value.is_absent() && cell.column == "path";
    add(cell.column, lacks_path ? report::member(document, "path") : value);
  }
  add("devices", device_ids(document));
  const report::Value& mismatches =
      report::member(report::member(document, "verify"), "mismatches");
  add("mismatches", static_cast<std::uint64_t>(report::elements(mismatches).size()));
  return table;
}

}  // namespace

report::Table load_table(const report::Object& document) {
  const auto& models = report::elements(report::member(document, "models"));
  if (models.empty()) return table_of_model(document);
  report::Table table;
  for (const report::Value& model : models) {
    const auto* fields = std::get_if<report::Object>(&model.data());
    if (fields == nullptr) continue;
    report::Table one = table_of_model(*fields);
    table.columns = std::move(one.columns);
    table.rows.push_back(std::move(one.rows.front()));
  }
  return table;
}

}  // namespace hiptool::results
