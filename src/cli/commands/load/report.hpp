// SPDX-License-Identifier: MIT
#pragma once
#include "cli/commands/load/outcome.hpp"
#include "hiptool/error.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

struct LoadReportOptions {
  bool describes_model = false;  ///< for people too: programs always get what the model is
  bool with_tensors = false;     ///< one row for each tensor
};

/// An outcome as lines, tables and the fields of `hiptool.load/1`. `run` has its verdict; `error`
/// ended the run and may be null. CSV has one table: a row for the load, or one for each tensor.
report::Report make_load_report(report::Run run, const LoadOutcome& outcome, const Error* error,
                                const LoadReportOptions& options);

}  // namespace hiptool::cli
