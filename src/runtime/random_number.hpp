// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace hiptool::runtime {

/// The number of [0, 1) that sample_token() draws.
double random_number(std::uint64_t seed, std::uint64_t draw);

}  // namespace hiptool::runtime
