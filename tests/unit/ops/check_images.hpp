// SPDX-License-Identifier: MIT
/// Numbers for tests of pooling, upsampling and convolution.
#pragma once
#include "unit/ops/check_move.hpp"

namespace hiptool::test {

using Dims = std::vector<std::uint64_t>;

/// Whole numbers from -8 to 8, of unsigned types from 0 to 16.
inline reference::Values whole_values(DType dtype, const Dims& dims, std::uint32_t seed) {
  reference::Values values{dims, {}};
  std::mt19937 random(seed);
  const std::uint64_t count = Layout(dims).element_count();
  const bool has_sign = dtype != DType::u8 && dtype != DType::u32;
  for (std::uint64_t i = 0; i < count; ++i) {
    values.at.push_back(static_cast<long double>(random() % 17) - (has_sign ? 8 : 0));
  }
  return values;
}

/// Numbers between -1 and 1 with all digits of the type.
inline reference::Values real_values(DType dtype, const Dims& dims, std::uint32_t seed) {
  reference::Values values{dims, {}};
  std::mt19937_64 random(seed);
  const std::uint64_t count = Layout(dims).element_count();
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto number = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
    values.at.push_back(static_cast<long double>(number));
  }
  return reference::values_of(dtype, reference::bytes_of(dtype, values), dims);
}

}  // namespace hiptool::test
