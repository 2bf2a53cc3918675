// SPDX-License-Identifier: MIT
#include "ops/reference/layers.hpp"

#include <cmath>
#include <cstddef>

namespace hiptool::ops::reference {
namespace {

constexpr long double single_unit = 0x1p-24L;

/// Slack of a sum of products in f32, by the root of the sum of their squares.
long double product_slack(std::size_t terms, long double size) {
  const auto count = static_cast<long double>(terms);
  return (8 * std::sqrt(count) + count / 8) * single_unit * size + count * ulp_of(DType::f32, 0);
}

}  // namespace

Expected file_product(const Values& weights, const Values& x) {
  const std::size_t rows = weights.dims[0];
  const std::size_t columns = weights.dims[1];
  const std::size_t tokens = x.dims[0];
  Expected expected{{{tokens, rows}, {}}, {}};
  for (std::size_t token = 0; token < tokens; ++token) {
    for (std::size_t row = 0; row < rows; ++row) {
      long double sum = 0;
      long double squares = 0;
      for (std::size_t k = 0; k < columns; ++k) {
        const long double product = weights.at[row * columns + k] * x.at[token * columns + k];
        sum += product;
        squares += product * product;
      }
      expected.values.at.push_back(sum);
      expected.slack.push_back(product_slack(columns, std::sqrt(squares)) +
                               ulp_of(DType::f32, sum) / 2);
    }
  }
  return expected;
}

}  // namespace hiptool::ops::reference
