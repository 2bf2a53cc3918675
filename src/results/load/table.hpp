// SPDX-License-Identifier: MIT
#pragma once
#include "report/report.hpp"

namespace hiptool::results {

/// A finished document of `load` as one row, or a row for each of several models, for CSV: its
/// scalar values and the number of listed differences. Absent fields are empty cells, so that the
/// columns are the same for every load.
report::Table load_table(const report::Object& document);

}  // namespace hiptool::results
