// SPDX-License-Identifier: MIT
#pragma once
#include "cli/commands/report/report.hpp"

namespace hiptool::cli {

/// Writes one document in another format, HTML if none was asked for. Exit code 0 once it is
/// written, whatever the run's own was: what is written shows the verdict of that run.
int run_report_render(const ReportOptions& options, Context& context);

}  // namespace hiptool::cli
