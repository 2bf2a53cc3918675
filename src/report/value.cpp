// SPDX-License-Identifier: MIT
#include "report/report.hpp"

namespace hiptool::report {

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

}  // namespace hiptool::report
