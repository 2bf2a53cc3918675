// SPDX-License-Identifier: MIT
#pragma once
#include "cli/commands/load/outcome.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

struct LoadReportOptions {
  bool describes_model = false;  ///< for people too: programs always get what the model is
  bool with_tensors = false;     ///< one row for each tensor
};

/// Puts an outcome into words and into the fields of `hiptool.load/1`. `head` holds the fields that
/// begin every document.
report::Report make_load_report(report::Object head, const LoadOutcome& outcome,
                                const LoadReportOptions& options);

}  // namespace hiptool::cli
