// SPDX-License-Identifier: MIT
#pragma once
#include "cli/command.hpp"

namespace hiptool::cli {

/// `hiptool load`: a model file into device memory, proven byte by byte.
Command load_command();

}  // namespace hiptool::cli
