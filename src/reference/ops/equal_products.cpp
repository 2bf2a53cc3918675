// SPDX-License-Identifier: MIT
#include "reference/ops/equal_products.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace hiptool::reference {

long double grouped_squares(std::vector<long double> products) {
  // Of NaN nothing is equal, and there is no order.
  for (const long double product : products) {
    if (std::isnan(product)) return product;
  }
  std::ranges::sort(products);
  long double squares = 0;
  for (std::size_t first = 0; first < products.size();) {
    long double sum = 0;
    const long double product = products[first];
    for (; first < products.size() && products[first] == product; ++first) sum += product;
    squares += sum * sum;
  }
  return squares;
}

bool repeats(std::vector<long double> factors) {
  constexpr std::size_t many = 8;
  std::erase_if(factors, [](long double factor) { return std::isnan(factor); });
  std::ranges::sort(factors);
  for (std::size_t i = many; i < factors.size(); ++i) {
    if (factors[i] == factors[i - many]) return true;
  }
  return false;
}

}  // namespace hiptool::reference
