// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>

namespace hiptool::cli {

/// Whether the name of an output file means standard output, whatever that is connected to.
inline bool is_standard_output(std::string_view name) {
  return name == "-" || name == "/dev/stdout" || name == "/dev/fd/1" || name == "/proc/self/fd/1";
}

}  // namespace hiptool::cli
