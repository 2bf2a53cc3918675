// SPDX-License-Identifier: MIT
#include "reference/ops/reduce.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hiptool::reference {
namespace {

struct Judged {
  long double value;
  long double slack;
};

long double wrapped_sum(DType dtype, const std::vector<long double>& elements) {
  std::uint64_t sum = 0;
  for (const long double element : elements) {
    sum += element < 0 ? 0 - static_cast<std::uint64_t>(-element)
                       : static_cast<std::uint64_t>(element);
  }
  switch (dtype) {
    case DType::u8: return static_cast<std::uint8_t>(sum);
    case DType::u32: return static_cast<std::uint32_t>(sum);
    case DType::i16: return static_cast<std::int16_t>(sum);
    case DType::i32: return static_cast<std::int32_t>(sum);
    default: return static_cast<long double>(static_cast<std::int64_t>(sum));
  }
}

/// Whether every partial sum, in any order, is a whole number that the accumulator holds.
bool is_exact_in_any_order(const std::vector<long double>& elements, int digits) {
  long double magnitudes = 0;
  for (const long double element : elements) {
    if (element != std::rint(element)) return false;
    magnitudes += std::fabs(element);
  }
  return magnitudes <= std::ldexp(1.0L, digits);
}

Judged float_sum(DType dtype, const std::vector<long double>& elements) {
  const int digits = dtype == DType::f64 ? 53 : 24;
  // By size, so that the sum itself is right to long double's last digits.
  std::vector<long double> sorted = elements;
  std::ranges::stable_sort(
      sorted, [](long double a, long double b) { return std::fabs(a) < std::fabs(b); });
  long double sum = 0;
  long double squares = 0;
  for (const long double element : sorted) {
    sum += element;
    squares += element * element;
  }
  if (sum == 0) sum = 0;  // never -0
  if (!std::isfinite(sum) || is_exact_in_any_order(elements, digits)) return {sum, 0};
  const auto k = static_cast<long double>(elements.size());
  const long double rounding =
      (8 * std::sqrt(k) + k / 8) * std::ldexp(1.0L, -digits) * std::sqrt(squares);
  return {sum, rounding + ulp_of(dtype, std::fabs(sum) + rounding) / 2};
}

bool comes_before(ops::Reduce operation, long double a, long double b) {
  return operation == ops::Reduce::min || operation == ops::Reduce::argmin ? a < b : a > b;
}

long double place_of_best(ops::Reduce operation, const std::vector<long double>& elements) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (std::isnan(elements[i])) return static_cast<long double>(i);
    if (comes_before(operation, elements[i], elements[best])) best = i;
  }
  return static_cast<long double>(best);
}

long double best_value(ops::Reduce operation, const std::vector<long double>& elements) {
  long double best = elements[static_cast<std::size_t>(place_of_best(operation, elements))];
  if (best != 0) return best;
  // Of zeros the negative ones are smaller.
  bool has_wanted_zero = false;
  for (const long double element : elements) {
    has_wanted_zero |= element == 0 && std::signbit(element) == (operation == ops::Reduce::min);
  }
  return std::copysign(0.0L, has_wanted_zero == (operation == ops::Reduce::min) ? -1.0L : 1.0L);
}

Judged judge(ops::Reduce operation, DType dtype, const std::vector<long double>& elements) {
  switch (operation) {
    case ops::Reduce::sum:
      if (is_floating_point(dtype)) return float_sum(dtype, elements);
      return {wrapped_sum(dtype, elements), 0};
    case ops::Reduce::min:
    case ops::Reduce::max:
      if (!is_floating_point(dtype)) {
        return {*(operation == ops::Reduce::min ? std::ranges::min_element(elements)
                                                : std::ranges::max_element(elements)),
                0};
      }
      return {best_value(operation, elements), 0};
    default: return {place_of_best(operation, elements), 0};
  }
}

}  // namespace

Expected reduce(ops::Reduce operation, DType dtype, const Values& x,
                std::span<const std::size_t> axes, bool keep_dims) {
  const std::size_t rank = x.dims.size();
  std::vector<bool> is_reduced(rank, false);
  for (const std::size_t axis : axes) is_reduced[axis] = true;
  Expected expected;
  std::uint64_t results = 1;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (!is_reduced[axis]) results *= x.dims[axis];
    if (!is_reduced[axis] || keep_dims) {
      expected.values.dims.push_back(is_reduced[axis] ? 1 : x.dims[axis]);
    }
  }
  // Every element goes to its result in row-major order, which is the order of the index.
  std::vector<std::vector<long double>> groups(results);
  for (std::size_t i = 0; i < x.at.size(); ++i) {
    std::uint64_t rest = i;
    std::uint64_t group = 0;
    std::uint64_t scale = 1;
    for (std::size_t axis = rank; axis-- > 0;) {
      if (!is_reduced[axis]) {
        group += rest % x.dims[axis] * scale;
        scale *= x.dims[axis];
      }
      rest /= x.dims[axis];
    }
    groups[group].push_back(x.at[i]);
  }
  bool has_slack = false;
  for (const auto& group : groups) {
    const Judged judged = judge(operation, dtype, group);
    expected.values.at.push_back(judged.value);
    expected.slack.push_back(judged.slack);
    has_slack |= judged.slack > 0;
  }
  if (!has_slack) expected.slack.clear();
  return expected;
}

}  // namespace hiptool::reference
