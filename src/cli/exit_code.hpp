// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "report/verdict.hpp"

namespace hiptool::cli {

using report::exit_check_failed;
using report::exit_code_of;
using report::exit_done;
using report::severity_of;
using report::worse_of;

/// A row of the table of exit codes.
struct ExitCodeDoc {
  int exit_code;
  std::string_view meaning;
};

/// The exit codes in the order of the table.
std::vector<ExitCodeDoc> exit_code_docs();

/// "If several things failed, the code is the first of ...", a line.
std::string several_failures_text();

/// The table of `hiptool help exit-codes`.
std::string exit_codes_text();

}  // namespace hiptool::cli
