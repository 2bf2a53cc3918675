// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

namespace hiptool::reference {

/// The points of the IQ types as the Python package gguf publishes them (gguf/quants.py, the
/// classes' grid_hex), one after the other: 8 elements a point, 4 in iq3.
struct IqGrids {
  std::vector<std::int8_t> iq2_xxs;  ///< 256 points
  std::vector<std::int8_t> iq2_xs;   ///< 512
  std::vector<std::int8_t> iq2_s;    ///< 1024
  std::vector<std::int8_t> iq3_xxs;  ///< 256
  std::vector<std::int8_t> iq3_s;    ///< 512
  std::vector<std::int8_t> iq1;      ///< 2048, of IQ1_S and IQ1_M
};

const IqGrids& reference_grids();

}  // namespace hiptool::reference
