// SPDX-License-Identifier: MIT
#include "user_kernel/comparison.hpp"

#include <algorithm>

#include "user_kernel/element_value.hpp"

namespace hiptool::user_kernel {
namespace {

/// The root mean square of the finite values, times 1/1000: where zeros stop being right.
double least_of_zeros(ElementType type, std::span<const std::byte> expected) {
  constexpr double share = 1e-3;
  const std::size_t size = size_bytes(type);
  double scale = 0;  // squares of large or small values alone would leave the range
  for (std::size_t i = 0; i < expected.size() / size; ++i) {
    const double value = std::abs(real_of(type, expected.subspan(i * size, size)));
    if (std::isfinite(value)) scale = std::max(scale, value);
  }
  if (scale == 0) return 0;
  double squares = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < expected.size() / size; ++i) {
    const double value = real_of(type, expected.subspan(i * size, size)) / scale;
    if (!std::isfinite(value)) continue;
    squares += value * value;
    ++count;
  }
  return share * scale * std::sqrt(squares / static_cast<double>(count));
}

bool is_within(double got, double expected, const Tolerance& tolerance) {
  if (std::isnan(got) || std::isnan(expected)) return std::isnan(got) && std::isnan(expected);
  if (std::isinf(got) || std::isinf(expected)) return got == expected;
  return std::abs(got - expected) <= tolerance.slack(expected);
}

}  // namespace

BufferComparison compare_buffer(ElementType type, std::span<const std::byte> got,
                                std::span<const std::byte> expected,
                                const std::optional<Tolerance>& tolerance) {
  BufferComparison found;
  const std::size_t size = size_bytes(type);
  if (is_real(type)) found.max_error = 0;
  const double zero_limit = is_real(type) && tolerance ? least_of_zeros(type, expected) : 0;
  for (std::size_t i = 0; i < got.size() / size; ++i) {
    const auto one = got.subspan(i * size, size);
    const auto other = expected.subspan(i * size, size);
    const std::uint64_t bits = bits_of(type, one) ^ bits_of(type, other);
    if (bits == 0) continue;
    bool is_right = false;
    if (is_real(type)) {
      const double value = real_of(type, one);
      const double want = real_of(type, other);
      const double error = std::abs(value - want);
      if (std::isfinite(error)) found.max_error = std::max(*found.max_error, error);
      is_right = tolerance && is_within(value, want, *tolerance);
      if (is_right && value == 0 && want != 0 && std::abs(want) >= zero_limit) {
        is_right = false;
        ++found.refused_zeros;
      }
    }
    if (is_right) continue;
    if (!found.wrong) {
      found.wrong.emplace();
      found.wrong->first_index = i;
      found.wrong->expected = value_of(type, other);
      found.wrong->got = value_of(type, one);
      found.wrong->xor_bits = bits;
    }
    ++found.wrong->count;
  }
  return found;
}

}  // namespace hiptool::user_kernel
