// SPDX-License-Identifier: MIT
/// Manual pages (man(7), section 1): one of the program and one of each command.
#pragma once
#include <string>

#include "cli/help/command_docs.hpp"
#include "hiptool/platform.hpp"

namespace hiptool::cli {

/// The page hiptool(1), or hiptool-COMMAND(1) if a command is given. Throws
/// Error(invalid_argument) with a suggestion for an unknown command. `date` is "2026-11-23" or
/// empty.
std::string man_page_text(const ProgramDoc& program, const std::string& command,
                          const std::string& date);

/// The day of SOURCE_DATE_EPOCH in UTC, so that a release has the same pages whenever it is built
/// (https://reproducible-builds.org/specs/source-date-epoch/); empty without that variable.
std::string manual_date(const GetEnvironment& environment);

}  // namespace hiptool::cli
