// SPDX-License-Identifier: MIT
#include "reference/ops/matmul.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "reference/ops/equal_products.hpp"

namespace hiptool::reference {
namespace {

/// The index of the first element of a matrix of a tensor whose batch dimensions may be 1.
std::size_t matrix_start(const Values& values, const std::vector<std::uint64_t>& dims,
                         std::size_t batch) {
  const std::size_t rank = dims.size();
  std::size_t step = values.dims[rank - 1] * values.dims[rank - 2];
  std::size_t start = 0;
  for (std::size_t axis = rank - 2; axis-- > 0;) {
    if (values.dims[axis] != 1) start += batch % dims[axis] * step;
    batch /= dims[axis];
    step *= values.dims[axis];
  }
  return start;
}

struct Sum {
  bool keeps_products = false;
  long double value = 0;
  long double squares = 0;
  long double sizes = 0;
  bool is_whole = true;
  std::vector<long double> products;

  void add(long double product) {
    value += product;
    squares += product * product;
    if (keeps_products) products.push_back(product);
    sizes += std::fabs(product);
    is_whole = is_whole && std::trunc(product) == product;
  }
};

/// Whether some line of matrices repeats a number. Lines have `length` elements, `step` apart, and
/// `step` of them lie in a row.
bool repeats_in_lines(const Values& values, std::size_t length, std::size_t step) {
  if (values.at.empty()) return false;
  for (std::size_t line = 0; line < values.at.size() / length; ++line) {
    std::vector<long double> factors;
    const std::size_t first = line / step * step * length + line % step;
    for (std::size_t i = 0; i < length; ++i) factors.push_back(values.at[first + i * step]);
    if (repeats(std::move(factors))) return true;
  }
  return false;
}

/// Of the result.
std::vector<std::uint64_t> product_dims_of(const Values& a, const Values& b) {
  const std::size_t rank = a.dims.size();
  std::vector<std::uint64_t> dims;
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    dims.push_back(a.dims[i] == 1 ? b.dims[i] : a.dims[i]);
  }
  dims.push_back(a.dims[rank - 2]);
  dims.push_back(b.dims[rank - 1]);
  return dims;
}

std::size_t product_results(const std::vector<std::uint64_t>& dims) {
  std::size_t count = 1;
  for (const std::uint64_t dim : dims) count *= dim;
  return count;
}

}  // namespace

Expected matmul(DType dtype, const Values& a, const Values& b, double alpha, double beta,
                const Values* old) {
  const std::size_t rank = a.dims.size();
  const std::size_t m = a.dims[rank - 2];
  const std::size_t k = a.dims[rank - 1];
  const std::size_t n = b.dims[rank - 1];
  Expected expected;
  expected.values.dims = product_dims_of(a, b);
  const auto& dims = expected.values.dims;
  const bool is_double = dtype == DType::f64;
  const long double unit = is_double ? 0x1p-53L : 0x1p-24L;
  const auto length = static_cast<long double>(k);
  const long double units = 8 * std::sqrt(length) + length / 8;
  const bool keeps_products = repeats_in_lines(a, k, 1) && repeats_in_lines(b, k, n);
  for (std::size_t at = 0; at < product_results(dims); ++at) {
    const std::size_t batch = at / (m * n);
    const std::size_t row = matrix_start(a, dims, batch) + at / n % m * k;
    const std::size_t column = matrix_start(b, dims, batch) + at % n;
    Sum sum;
    sum.keeps_products = keeps_products;
    for (std::size_t i = 0; i < k; ++i) sum.add(a.at[row + i] * b.at[column + i * n]);
    const long double product = alpha * sum.value;
    const bool adds = old != nullptr && beta != 0;
    const long double added = adds ? beta * old->at[at] : 0;
    const long double result = adds ? product + added : product;  // which may be -0
    const long double squares = keeps_products ? grouped_squares(sum.products) : sum.squares;
    long double slack = units * unit * std::sqrt(squares) * std::fabs(alpha) +
                        length * ulp_of(is_double ? DType::f64 : DType::f32, 0);
    const long double whole = sum.sizes * std::fabs(alpha) + std::fabs(added);
    const bool is_exact = sum.is_whole && alpha == 1 && std::trunc(added) == added &&
                          whole <= (is_double ? 0x1p53L : 0x1p24L);
    slack += 2 * unit * (std::fabs(product) + std::fabs(added)) + ulp_of(dtype, result) / 2;
    expected.values.at.push_back(result);
    expected.slack.push_back(is_exact ? 0 : slack);
  }
  return expected;
}

Expected matmul_i32(const Values& a, const Values& b) {
  const std::size_t rank = a.dims.size();
  const std::size_t k = a.dims[rank - 1];
  Expected expected;
  expected.values.dims = product_dims_of(a, b);
  const auto& dims = expected.values.dims;
  const std::size_t n = dims[rank - 1];
  const std::size_t matrix = dims[rank - 2] * n;
  for (std::size_t at = 0; at < product_results(dims); ++at) {
    const std::size_t row = matrix_start(a, dims, at / matrix) + at % matrix / n * k;
    const std::size_t column = matrix_start(b, dims, at / matrix) + at % n;
    long double sum = 0;
    for (std::size_t i = 0; i < k; ++i) sum += a.at[row + i] * b.at[column + i * n];
    // Of the numbers that are equal modulo 2^32, the one from -2^31 to 2^31 - 1.
    expected.values.at.push_back(sum - std::floor((sum + 0x1p31L) * 0x1p-32L) * 0x1p32L);
    expected.slack.push_back(0);
  }
  return expected;
}

}  // namespace hiptool::reference
