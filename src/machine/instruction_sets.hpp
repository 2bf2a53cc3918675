// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/platform.hpp"

namespace hiptool::machine {

/// What an architecture can compute beyond plain arithmetic: "MFMA of f64 f32 f16 bf16 i8",
/// "tensor cores of f16 i8 bf16 tf32 f64", and what its name states: "xnack off". Empty for an
/// architecture that is not in the tables. docs/peaks.md names the sources.
std::vector<std::string> instruction_features(Platform platform, std::string_view arch);

}  // namespace hiptool::machine
