// SPDX-License-Identifier: MIT
#pragma once
#include "cli/commands/load/outcome.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

/// What `--check-tensors` found, for the document: {checked, nan, inf, tensors[]}.
report::Value values_value(const LoadOutcome& outcome);

/// The same for a person: a line, and a table of the tensors that have such values.
report::Line values_line(const LoadOutcome& outcome);
report::Table values_table(const LoadOutcome& outcome);

}  // namespace hiptool::cli
