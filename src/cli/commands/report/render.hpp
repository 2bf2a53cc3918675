// SPDX-License-Identifier: MIT
#pragma once
#include "cli/commands/report/report.hpp"

namespace hiptool::cli {

/// Writes one document in another format, HTML if none was asked for.
int run_report_render(const ReportOptions& options, Context& context);

}  // namespace hiptool::cli
