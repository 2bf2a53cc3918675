// SPDX-License-Identifier: MIT
/// Looks into documents that came from outside: a member that is missing or of another type than
/// expected is absent, never an error.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "report/report.hpp"

namespace hiptool::report {

/// The member of that name, or absent where there is none or `value` is no object.
const Value& member(const Value& value, std::string_view name);
const Value& member(const Object& object, std::string_view name);

/// The elements; none where it is no array.
const Array& elements(const Value& value);

/// The text; empty where it is none.
std::string text_of(const Value& value);

/// A finite number of any of the three types.
std::optional<double> number_of(const Value& value);

/// A whole number from 0 on.
std::optional<std::uint64_t> count_of(const Value& value);

/// One JSON document as a tree. Throws Error(corrupt_data) that begins with `what` and says where,
/// for text that is no JSON, more than 64 levels deep, or has a name twice in an object.
Value parse_json(std::string_view text, const std::string& what);

}  // namespace hiptool::report
