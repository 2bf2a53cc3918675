// SPDX-License-Identifier: MIT
#pragma once
#include "report/merge.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

/// One row for each merged result, failed measurement and failed run, for CSV.
report::Table merge_table(const report::Merge& merge);

}  // namespace hiptool::cli
