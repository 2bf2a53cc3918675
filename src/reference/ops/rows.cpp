// SPDX-License-Identifier: MIT
#include "reference/ops/rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hiptool::reference {
namespace {

long double unit_of(DType dtype) { return dtype == DType::f64 ? 0x1p-53L : 0x1p-24L; }
long double sum_units(std::size_t width) { return static_cast<long double>(width) / 32 + 16; }

Expected empty_like(const Values& x) {
  Expected expected;
  expected.values = x;
  expected.slack.assign(x.at.size(), 0);
  return expected;
}

/// Indices of the elements of one row after the other.
std::vector<std::vector<std::size_t>> rows_along(const Values& x, std::size_t axis) {
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < x.dims.size(); ++i) inner *= x.dims[i];
  const std::size_t width = x.dims[axis];
  std::vector<std::vector<std::size_t>> rows;
  for (std::size_t first = 0; first < x.at.size(); ++first) {
    if (first / inner % width != 0) continue;
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < width; ++i) row.push_back(first + i * inner);
  }
  return rows;
}

/// Its error is an ulp or two of itself, however many elements there are (Neumaier 1974).
long double mean_of(const Values& x, const std::vector<std::size_t>& row) {
  long double sum = 0;
  long double lost = 0;
  for (const std::size_t i : row) {
    const long double next = sum + x.at[i];
    const bool is_larger = std::fabs(sum) >= std::fabs(x.at[i]);
    lost += is_larger ? (sum - next) + x.at[i] : (x.at[i] - next) + sum;
    sum = next;
  }
  if (std::isfinite(lost)) sum += lost;
  return sum / static_cast<long double>(row.size());
}

}  // namespace

Expected softmax(DType dtype, const Values& x, std::size_t axis, bool is_log) {
  Expected expected = empty_like(x);
  const long double unit = unit_of(dtype);
  for (const auto& row : rows_along(x, axis)) {
    long double most = -std::numeric_limits<long double>::infinity();
    for (const std::size_t i : row) most = std::fmax(most, x.at[i]);
    long double sum = 0;
    for (const std::size_t i : row) sum += std::exp(x.at[i] - most);
    const long double units =
        sum_units(row.size()) + std::log(static_cast<long double>(row.size()));
    for (const std::size_t i : row) {
      const long double below = x.at[i] - most;
      const long double result = is_log ? below - std::log(sum) : std::exp(below) / sum;
      const long double distance = std::isfinite(below) ? std::fabs(below) : 0;
      const long double scale = is_log ? 1 : std::fabs(result);
      expected.values.at[i] = result;
      expected.slack[i] = scale * (4 * distance + 4 * std::fabs(std::log(sum)) + units) * unit +
                          ulp_of(dtype, result);
      // Terms below the least number of the accumulator are rounded there.
      expected.slack[i] += ulp_of(dtype == DType::f64 ? DType::f64 : DType::f32, 0);
    }
  }
  return expected;
}

Expected normalise(DType dtype, const Values& x, const Values& weight, const Values* bias,
                   bool is_centred, double epsilon) {
  Expected expected = empty_like(x);
  const long double unit = unit_of(dtype);
  for (const auto& row : rows_along(x, x.dims.size() - 1)) {
    const auto count = static_cast<long double>(row.size());
    long double mean = 0;
    if (is_centred) mean = mean_of(x, row);
    long double squares = 0;
    long double distances = 0;
    for (const std::size_t i : row) {
      squares += (x.at[i] - mean) * (x.at[i] - mean) / count;
      distances += std::fabs(x.at[i] - mean) / count;
    }
    const long double scale = 1 / std::sqrt(squares + static_cast<long double>(epsilon));
    const long double error = sum_units(row.size()) * unit;
    for (std::size_t k = 0; k < row.size(); ++k) {
      const std::size_t i = row[k];
      const long double factor = scale * weight.at[k];
      const long double scaled = (x.at[i] - mean) * factor;
      const long double added = bias != nullptr ? bias->at[k] : 0;
      expected.values.at[i] = bias != nullptr ? scaled + added : scaled;  // which may be -0
      const long double size = std::fabs(x.at[i] - mean) + distances;
      // Of the mean that a kernel takes, and of the one here.
      const long double of_means = std::fabs(mean) * (error * error + 0x1p-62L);
      expected.slack[i] = (size * error + of_means) * std::fabs(factor) +
                          std::fabs(scaled) * error + std::fabs(added) * unit +
                          ulp_of(dtype, scaled + added);
    }
  }
  return expected;
}

Expected rope(DType dtype, const Values& x, const Values& cosines, const Values& sines,
              RopePairs pairs) {
  Expected expected = empty_like(x);
  const std::size_t rank = x.dims.size();
  const std::size_t width = x.dims[rank - 1];
  const std::size_t heads = x.dims[rank - 2];
  const std::size_t tokens = x.dims[rank - 3];
  const std::size_t half = cosines.dims[1];
  const std::size_t step = pairs == RopePairs::neighbours ? 1 : half;
  for (std::size_t row = 0; row < x.at.size() / width; ++row) {
    const std::size_t token = row / heads % tokens;
    for (std::size_t i = 0; i < half; ++i) {
      const std::size_t first = row * width + (pairs == RopePairs::neighbours ? 2 * i : i);
      const std::size_t second = first + step;
      const long double a = x.at[first];
      const long double b = x.at[second];
      const long double cosine = cosines.at[token * half + i];
      const long double sine = sines.at[token * half + i];
      const auto put = [&](std::size_t at, long double left, long double right) {
        expected.values.at[at] = left + right;
        expected.slack[at] = 2 * unit_of(dtype) * (std::fabs(left) + std::fabs(right)) +
                             ulp_of(dtype, left + right) / 2;
        // Half an ulp of each product that is below the least normal number of the accumulator.
        expected.slack[at] += ulp_of(dtype == DType::f64 ? DType::f64 : DType::f32, 0);
      };
      put(first, a * cosine, -(b * sine));
      put(second, a * sine, b * cosine);
    }
  }
  return expected;
}

Expected gate(DType dtype, ops::Gate kind, const Values& gates, const Values& up) {
  Expected expected = empty_like(up);
  const auto activation = [kind](long double x) -> long double {
    const bool falls_to_zero = kind != ops::Gate::relu && kind != ops::Gate::sigmoid;
    if (falls_to_zero && std::isinf(x) && x < 0) return -0.0L;
    switch (kind) {
      case ops::Gate::silu: return x / (1 + std::exp(-x));
      case ops::Gate::gelu: {
        const long double u = std::sqrt(2 / std::acos(-1.0L)) * (x + 0.044715L * x * x * x);
        return x / (1 + std::exp(-2 * u));
      }
      case ops::Gate::gelu_erf: return x * std::erfc(-x / std::sqrt(2.0L)) / 2;
      case ops::Gate::relu: return x <= 0 ? 0 : x;  // NaN stays
      case ops::Gate::sigmoid: return 1 / (1 + std::exp(-x));
    }
    return 0;
  };
  const DType computed = dtype == DType::f64 ? DType::f64 : DType::f32;
  // Kernels of their own compute activations of halves with fewer digits.
  const long double narrow = dtype == DType::f16 ? 0x1p-19L : dtype == DType::bf16 ? 0x1p-16L : 0;
  for (std::size_t i = 0; i < up.at.size(); ++i) {
    long double factor = activation(gates.at[i]);
    // What is nearer to 0 than to the least number is 0 before it meets an infinity.
    if (std::fabs(factor) < ulp_of(computed, 0) / 2) factor = std::copysign(0.0L, factor);
    expected.values.at[i] = factor * up.at[i];
    // 2 ulp of the function, half an ulp of the product and of the result.
    expected.slack[i] = 2 * ulp_of(computed, factor) * std::fabs(up.at[i]) +
                        ulp_of(computed, factor * up.at[i]) / 2 +
                        ulp_of(dtype, factor * up.at[i]) / 2 +
                        narrow * std::fabs(factor * up.at[i]);
  }
  return expected;
}

}  // namespace hiptool::reference
