// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace hiptool::kernel_store {

inline constexpr std::size_t iq_grid_words = 4608;

/// The grids that hiptool_dequantize takes: of IQ2_XXS (256 words), IQ2_XS (512), IQ2_S (1024),
/// IQ3_XXS (256), IQ3_S (512) and IQ1 (2048). A word holds one grid point: of IQ2 and IQ1 eight
/// codes of 2 bits for 8, 25, 43 and for -1, 0, 1; of IQ3 four of 4 bits, for IQ3_S the value
/// itself, for IQ3_XXS n of 8 n + 4 (the largest, 7, is 62).
std::span<const std::uint16_t> iq_grids();

}  // namespace hiptool::kernel_store
