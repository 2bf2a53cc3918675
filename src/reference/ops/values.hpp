// SPDX-License-Identifier: MIT
/// What operations are judged by: text-book versions on the host that share no text with kernels.
#pragma once
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "hiptool/dtype.hpp"

namespace hiptool::reference {

/// The elements of a tensor in row-major order. A long double holds every value of every DType
/// (on x86-64 it has 64 bits of fraction), so integers are exact too.
struct Values {
  std::vector<std::uint64_t> dims;
  std::vector<long double> at;
};

/// The results that an operation should give. Without slack a result is right when it is the
/// correctly rounded value, bit for bit: one rounding to nearest even, the sign of zero included,
/// NaN as the canonical quiet NaN. With slack, is_within_slack().
struct Expected {
  Values values;
  std::vector<long double> slack;  // empty: none
};

/// Whether |result - value| <= slack of the same index; where the value is 0, a result that is 0
/// has its sign. Of results that are not bit-equal.
bool is_within_slack(const Expected& expected, std::size_t index, long double result);

/// Packed elements of that type as values, and values rounded once to that type: to nearest even;
/// f8e4m3 saturates; NaN is the canonical quiet one; integers must be in range.
Values values_of(DType dtype, std::span<const std::byte> bytes,
                 std::span<const std::uint64_t> dims);
std::vector<std::byte> bytes_of(DType dtype, const Values& values);

/// Distance of the two numbers of the type that enclose the value: "1 ulp". 0 for integers.
long double ulp_of(DType dtype, long double value);

}  // namespace hiptool::reference
