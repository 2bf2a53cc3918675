// SPDX-License-Identifier: MIT
#pragma once
#include "cli/commands/report/compare.hpp"

namespace hiptool::cli {

/// Exit code 1 if a cell is slower or the documents have none in common, else 0.
int run_report_compare(const ReportOptions& options, Context& context);

}  // namespace hiptool::cli
