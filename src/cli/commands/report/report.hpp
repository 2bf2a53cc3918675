// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

struct ReportOptions {
  std::string action;  ///< "compare", "merge" or "render"
  std::vector<std::string> files;
  double effect = 0;         ///< of compare; 0: the usual one
  std::string exclude_list;  ///< of merge; empty: none is written
};

/// One report with tables for people (table, markdown, html) and with those for programs.
struct ReportPair {
  report::Report for_people;
  report::Report for_programs;
};

Command report_command();

}  // namespace hiptool::cli
