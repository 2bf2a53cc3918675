// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "hiptool/platform.hpp"

namespace hiptool::cli {

/// Splits the values of --device at commas; a range such as nvidia:0-3 is each of its devices.
/// Throws Error(invalid_argument), for an empty part naming `what`.
std::vector<std::string> parse_device_ids(const std::vector<std::string>& texts,
                                          const std::string& what);

Platform parse_platform(const std::string& text);

}  // namespace hiptool::cli
