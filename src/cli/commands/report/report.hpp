// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace hiptool::cli {

struct ReportOptions {
  std::string action;  ///< "compare", "merge" or "render"
  std::vector<std::string> files;
  double effect = 0;         ///< of compare; 0: the usual one
  std::string exclude_list;  ///< of merge; empty: none is written
};

Command report_command();

}  // namespace hiptool::cli
