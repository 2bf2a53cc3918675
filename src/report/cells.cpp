// SPDX-License-Identifier: MIT
#include "report/cells.hpp"

namespace hiptool::report {
namespace {

bool is_number(const Value& value) {
  return std::holds_alternative<std::int64_t>(value.data()) ||
         std::holds_alternative<std::uint64_t>(value.data()) ||
         std::holds_alternative<double>(value.data());
}

}  // namespace

const Value& cell(const Table& table, std::size_t row, std::size_t column) {
  static const Value absent;
  const auto& values = table.rows[row];
  return column < values.size() ? values[column] : absent;
}

bool is_number_column(const Table& table, std::size_t column) {
  if (table.columns[column].unit != Unit::none) return true;
  bool has_number = false;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const Value& value = cell(table, row, column);
    if (!is_number(value) && !value.is_absent()) return false;
    has_number = has_number || is_number(value);
  }
  return has_number;
}

}  // namespace hiptool::report
