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

/// One document; the tables differ.
struct LoadReports {
  report::Report for_people;
  report::Report for_programs;  ///< one table: a row for the load, or one for each tensor
};

/// Puts an outcome into words and into the fields of `hiptool.load/1`. `head` holds the fields that
/// begin every document and the verdict; `error` is what ended the run, null if nothing did.
LoadReports make_load_report(report::Object head, const LoadOutcome& outcome, const Error* error,
                             const LoadReportOptions& options);

}  // namespace hiptool::cli
