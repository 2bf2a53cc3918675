// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>

#include "reference/ops/values.hpp"

namespace hiptool::reference {

/// Philox4x32-10, as the paper's figure writes it (Salmon, Moraes, Dror, Shaw, SC 2011).
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

/// As ops_move.hpp defines them, uniform numbers exactly.
Expected rand_uniform(DType dtype, std::vector<std::uint64_t> dims, std::uint64_t seed, double low,
                      double high);
Expected rand_normal(DType dtype, std::vector<std::uint64_t> dims, std::uint64_t seed, double mean,
                     double deviation);

}  // namespace hiptool::reference
