// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

#include "hiptool/load_plan.hpp"

namespace hiptool::cli {

/// "bytes", "layer", "replicate", or proportions such as "3,2" or "0.5,0.25,0.25". Throws
/// Error(invalid_argument) for anything else.
LoadSplit parse_split(std::string_view text);

}  // namespace hiptool::cli
