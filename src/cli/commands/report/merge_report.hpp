// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "cli/commands/report/merge.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

/// Hosts with a slow straggler or a failure, each once, by name. One that does not say its name is
/// left out.
std::vector<std::string> excluded_hosts(const Merge& merge);

/// The hosts as `--exclude` of Slurm and `-w ^` of pdsh take them: in one line, with commas.
std::string exclude_list(const Merge& merge);

/// Adds the fields to the document; verdict, tables and notes for people and for programs.
struct MergeReports {
  report::Report for_people;
  report::Report for_programs;
};
MergeReports make_merge_reports(report::Object head, const Merge& merge);

}  // namespace hiptool::cli
