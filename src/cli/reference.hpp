// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "cli/command_docs.hpp"

namespace hiptool::cli {

/// Every command with its examples, arguments and options, as Markdown.
std::string reference_text(const std::vector<CommandDoc>& commands,
                           const std::vector<OptionDoc>& common_options);

/// The same, with exit codes, environment and units, as a manual page (man(7)) of section 1.
std::string man_page_text(const std::vector<CommandDoc>& commands,
                          const std::vector<OptionDoc>& common_options);

}  // namespace hiptool::cli
