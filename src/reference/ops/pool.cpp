// SPDX-License-Identifier: MIT
#include "reference/ops/pool.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

namespace hiptool::reference {
namespace {

using Window = std::vector<long double>;

/// Calls the function with the elements of every window, in the order of results.
Values each_window(const Values& x, const ops::HeightWidth& kernel, const ops::HeightWidth& stride,
                   const std::function<long double(const Window&)>& function) {
  const std::uint64_t height = x.dims[2];
  const std::uint64_t width = x.dims[3];
  Values result{x.dims, {}};
  result.dims[2] = (height - kernel[0]) / stride[0] + 1;
  result.dims[3] = (width - kernel[1]) / stride[1] + 1;
  for (std::uint64_t image = 0; image < x.dims[0] * x.dims[1]; ++image) {
    for (std::uint64_t top = 0; top + kernel[0] <= height; top += stride[0]) {
      for (std::uint64_t left = 0; left + kernel[1] <= width; left += stride[1]) {
        Window window;
        for (std::uint64_t row = top; row < top + kernel[0]; ++row) {
          for (std::uint64_t column = left; column < left + kernel[1]; ++column) {
            window.push_back(x.at[(image * height + row) * width + column]);
          }
        }
        result.at.push_back(function(window));
      }
    }
  }
  return result;
}

long double whole_average(DType dtype, const Window& window) {
  std::uint64_t sum = 0;
  for (const long double element : window) {
    sum += static_cast<std::uint64_t>(static_cast<std::int64_t>(element));
  }
  if (dtype != DType::i64) return static_cast<long double>(sum / window.size());
  return static_cast<long double>(static_cast<std::int64_t>(sum) /
                                  static_cast<std::int64_t>(window.size()));
}

/// The average, and by how much it may be wrong.
long double real_average(DType dtype, const Window& window, long double& slack) {
  const DType computed = dtype == DType::f64 ? DType::f64 : DType::f32;
  const auto k = static_cast<long double>(window.size());
  long double sum = 0;
  long double squares = 0;
  long double magnitudes = 0;
  bool is_whole = true;
  for (const long double element : window) {
    sum += element;
    squares += element * element;
    magnitudes += std::fabs(element);
    is_whole = is_whole && element == std::rint(element);
  }
  slack = 0;
  if (!std::isfinite(sum)) return sum;
  if (is_whole && magnitudes <= 0x1p24L) {
    // Sums are exact in any order: only the quotient is rounded.
    return computed == DType::f64 ? static_cast<double>(sum) / static_cast<double>(k)
                                  : static_cast<float>(sum) / static_cast<float>(k);
  }
  const long double unit = computed == DType::f64 ? 0x1p-53L : 0x1p-24L;
  slack = (8 * std::sqrt(k) + k / 8) * unit * std::sqrt(squares) / k + ulp_of(computed, sum / k) +
          ulp_of(dtype, sum / k) / 2;
  return sum / k;
}

long double largest(const Window& window) {
  long double best = -std::numeric_limits<long double>::infinity();
  bool has_positive_zero = false;
  for (const long double element : window) {
    if (std::isnan(element)) return element;
    best = std::max(best, element);
    has_positive_zero = has_positive_zero || (element == 0 && !std::signbit(element));
  }
  return best == 0 ? std::copysign(0.0L, has_positive_zero ? 1.0L : -1.0L) : best;
}

std::uint64_t count_of(std::span<const std::uint64_t> dims) {
  std::uint64_t count = 1;
  for (const std::uint64_t dim : dims) count *= dim;
  return count;
}

struct Neighbours {
  std::uint64_t first;
  std::uint64_t second;
  long double inside;  // from the first to the second
};

Neighbours neighbours_of(std::uint64_t i, std::uint64_t in, std::uint64_t out, bool aligns_corners,
                         std::optional<double> factor) {
  double at = 0;
  if (aligns_corners) {
    const double scale = out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
    at = scale * static_cast<double>(i);
  } else {
    const double scale = factor ? 1 / *factor : static_cast<double>(in) / static_cast<double>(out);
    at = std::max(0.0, scale * (static_cast<double>(i) + 0.5) - 0.5);
  }
  const double first = std::min(std::floor(at), static_cast<double>(in - 1));
  const double second = std::min(first + 1, static_cast<double>(in - 1));
  return {static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(second),
          std::min(1.0, at - first)};
}

}  // namespace

Expected avg_pool2d(DType dtype, const Values& x, const ops::HeightWidth& kernel,
                    const ops::HeightWidth& stride) {
  Expected expected;
  expected.values = each_window(x, kernel, stride, [&](const Window& window) {
    if (!is_floating_point(dtype)) return whole_average(dtype, window);
    expected.slack.emplace_back();
    return real_average(dtype, window, expected.slack.back());
  });
  if (std::ranges::all_of(expected.slack, [](long double slack) { return slack == 0; })) {
    expected.slack.clear();
  }
  return expected;
}

void allow_reciprocal(DType dtype, std::uint64_t window, Expected& expected) {
  if (std::has_single_bit(window)) return;
  const DType computed = dtype == DType::f64 ? DType::f64 : DType::f32;
  expected.slack.resize(expected.values.at.size());
  for (std::size_t i = 0; i < expected.slack.size(); ++i) {
    const long double value = expected.values.at[i];
    if (!std::isfinite(value)) continue;
    expected.slack[i] += 2 * ulp_of(computed, value);
    if (dtype != computed) expected.slack[i] += ulp_of(dtype, value) / 2;
  }
}

Expected max_pool2d(const Values& x, const ops::HeightWidth& kernel,
                    const ops::HeightWidth& stride) {
  return {each_window(x, kernel, stride, largest), {}};
}

Values upsample_nearest(const Values& x, std::span<const std::uint64_t> size) {
  Values result{{x.dims[0], x.dims[1]}, {}};
  result.dims.insert(result.dims.end(), size.begin(), size.end());
  const std::size_t rank = result.dims.size();
  const std::uint64_t count = count_of(result.dims);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t rest = i;
    std::uint64_t place = 0;
    std::uint64_t scale = 1;
    for (std::size_t axis = rank; axis-- > 0;) {
      const std::uint64_t index = rest % result.dims[axis];
      rest /= result.dims[axis];
      place += index * x.dims[axis] / result.dims[axis] * scale;
      scale *= x.dims[axis];
    }
    result.at.push_back(x.at[place]);
  }
  return result;
}

Expected upsample_bilinear2d(DType dtype, const Values& x, const ops::HeightWidth& size,
                             const ops::BilinearOptions& options) {
  Expected expected;
  expected.values.dims = {x.dims[0], x.dims[1], size[0], size[1]};
  const long double unit = dtype == DType::f64 ? 0x1p-53L : 0x1p-24L;
  const std::uint64_t width = x.dims[3];
  for (std::uint64_t image = 0; image < x.dims[0] * x.dims[1]; ++image) {
    for (std::uint64_t i = 0; i < size[0] * size[1]; ++i) {
      const Neighbours rows = neighbours_of(i / size[1], x.dims[2], size[0], options.aligns_corners,
                                            options.height_factor);
      const Neighbours columns =
          neighbours_of(i % size[1], width, size[1], options.aligns_corners, options.width_factor);
      long double value = 0;
      long double most = 0;
      for (const bool is_lower : {false, true}) {
        for (const bool is_right : {false, true}) {
          const std::uint64_t row = is_lower ? rows.second : rows.first;
          const std::uint64_t column = is_right ? columns.second : columns.first;
          const long double element = x.at[(image * x.dims[2] + row) * width + column];
          value += (is_lower ? rows.inside : 1 - rows.inside) *
                   (is_right ? columns.inside : 1 - columns.inside) * element;
          most = std::max(most, std::fabs(element));
        }
      }
      expected.values.at.push_back(value);
      // Each of two interpolations: the weights, a product and a sum, and half a unit of the
      // least numbers.
      const long double rounding =
          6 * unit * most + 4 * ulp_of(dtype == DType::f64 ? DType::f64 : DType::f32, 0);
      expected.slack.push_back(
          std::isfinite(value) ? rounding + ulp_of(dtype, std::fabs(value) + rounding) / 2 : 0);
    }
  }
  return expected;
}

}  // namespace hiptool::reference
