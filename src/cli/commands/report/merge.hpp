// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "cli/commands/report/report.hpp"
#include "report/merge.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

/// Hosts with a slow straggler, a failed measurement or a failed run, each once, by name. One that
/// does not say its name is left out.
std::vector<std::string> excluded_hosts(const report::Merge& merge);

/// The hosts as `--exclude` of Slurm and `-w ^` of pdsh take them: in one line, with commas.
std::string exclude_list(const report::Merge& merge);

/// Ends the document with the verdict, prints the error of unreadable files and returns the exit
/// code: 1 for a slow straggler, a failed measurement, a run that did not pass, or where no
/// measurement was made twice; fast outliers are no failure.
int finish_merge_document(report::Object& document, const Environment& environment,
                          const report::Merge& merge);

/// Adds the fields to the document; verdict, tables and notes.
ReportPair make_merge_reports(report::Object document, const report::Merge& merge);

}  // namespace hiptool::cli
