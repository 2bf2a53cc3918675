// SPDX-License-Identifier: MIT
#pragma once
#include "cli/commands/load_outcome.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

/// Puts an outcome into words and into the fields of `hiptool.load/1`. `head` holds the fields that
/// begin every document; `with_tensors` adds one row for each tensor.
report::Report make_load_report(report::Object head, const LoadOutcome& outcome, bool with_tensors);

}  // namespace hiptool::cli
