// SPDX-License-Identifier: MIT
#pragma once
#include "cli/command.hpp"

namespace hiptool::cli {

/// `hiptool bench-copy`: how fast copies are, of what they could be, and whether they are right.
Command bench_copy_command();

}  // namespace hiptool::cli
