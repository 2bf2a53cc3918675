// SPDX-License-Identifier: MIT
/// What the writers of tables share.
#pragma once
#include <cstddef>
#include <string>

#include "report/report.hpp"

namespace hiptool::report {

/// The value under a column; absent where the row is too short.
const Value& cell(const Table& table, std::size_t row, std::size_t column);

/// True if people read the column as numbers, so that it is set right-aligned: it has a unit, or
/// all values that are there are numbers.
bool is_number_column(const Table& table, std::size_t column);

/// The value as JSON on one line; defined beside the JSON writer, which alone knows the library.
std::string json_text(const Value& value);

}  // namespace hiptool::report
