// SPDX-License-Identifier: MIT
#include "report/report.hpp"

namespace hiptool::report {
namespace {

bool is_number(const Value& value) {
  return std::holds_alternative<std::int64_t>(value.data()) ||
         std::holds_alternative<std::uint64_t>(value.data()) ||
         std::holds_alternative<double>(value.data());
}

}  // namespace

// Not inline: every document is built of these, and the code of a variant's copies is long.
Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;

Value::Value(const char* value) : data_(std::string(value)) {}
Value::Value(std::string_view value) : data_(std::string(value)) {}
Value::Value(std::string value) : data_(std::move(value)) {}
Value::Value(Array value) : data_(std::move(value)) {}
Value::Value(Object value) : data_(std::move(value)) {}

const Value& Table::at(std::size_t row, std::size_t column) const {
  static const Value absent;
  return column < rows[row].size() ? rows[row][column] : absent;
}

bool Table::is_number_column(std::size_t column) const {
  if (columns[column].unit != Unit::none) return true;
  bool has_number = false;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const Value& value = at(row, column);
    if (!is_number(value) && !value.is_absent()) return false;
    has_number = has_number || is_number(value);
  }
  return has_number;
}

}  // namespace hiptool::report
