// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "cli/commands/report/merge.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

/// Hosts with a slow straggler, a failed measurement or a failed run, each once, by name. One that
/// does not say its name is left out.
std::vector<std::string> excluded_hosts(const Merge& merge);

/// The hosts as `--exclude` of Slurm and `-w ^` of pdsh take them: in one line, with commas.
std::string exclude_list(const Merge& merge);

/// Adds the fields to the document; verdict, tables and notes for people and for programs.
struct MergeReports {
  report::Report for_people;
  report::Report for_programs;
};
MergeReports make_merge_reports(report::Object head, const Merge& merge);

/// Exit code 1 for a slow straggler, a failed measurement, a run that did not pass, or where no
/// measurement was made twice; fast outliers are no failure.
int run_report_merge(const ReportOptions& options, Context& context);

}  // namespace hiptool::cli
