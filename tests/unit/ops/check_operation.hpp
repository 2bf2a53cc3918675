// SPDX-License-Identifier: MIT
/// Runs an operation on operands of every layout and compares every element with the reference.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "hiptool/copy.hpp"
#include "hiptool/ops.hpp"
#include "reference/ops/values.hpp"
#include "support.hpp"

namespace hiptool::test {

/// Numbers for operands: every pattern of bits of the small types, else edges and random ones.
inline reference::Values some_values(DType dtype, std::span<const std::uint64_t> dims,
                                     std::uint32_t seed) {
  std::size_t count = 1;
  for (const std::uint64_t dim : dims) count *= dim;
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(count * element_size_bytes(dtype));
  // Half are small whole numbers, half any bits, NaN and infinities among them.
  reference::Values small{{dims.begin(), dims.end()}, {}};
  for (std::size_t i = 0; i < count; ++i) {
    const auto whole = static_cast<long double>(random() % 17);
    const bool has_sign = dtype != DType::u8 && dtype != DType::u32;
    small.at.push_back(has_sign ? whole - 8 : whole);
  }
  const auto small_bytes = reference::bytes_of(dtype, small);
  const std::size_t size = element_size_bytes(dtype);
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_small = random() % 2 == 0;
    for (std::size_t k = 0; k < size; ++k) {
      bytes[i * size + k] = is_small ? small_bytes[i * size + k] : static_cast<std::byte>(random());
    }
  }
  return reference::values_of(dtype, bytes, dims);
}

/// Random numbers from -4 to 4.
inline std::vector<float> random_floats(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    value = static_cast<float>(4 * (0x1p-31 * static_cast<double>(random()) - 1));
  }
  return values;
}

inline Tensor random_tensor(const Backend& backend, const std::vector<std::uint64_t>& dims,
                            std::uint32_t seed) {
  std::uint64_t count = 1;
  for (const std::uint64_t dim : dims) count *= dim;
  return Tensor::from_host<float>({backend.allocator(), backend.stream()},
                                  random_floats(count, seed), dims);
}

/// A tensor with these values, laid out in one of several ways, all of the same dimensions.
enum class Placement { packed, transposed, spread, offset };
inline constexpr std::array placements{Placement::packed, Placement::transposed, Placement::spread,
                                       Placement::offset};

/// Memory for a tensor of these dimensions placed so, filled with 0xFF bytes (NaN).
inline Tensor place(const Backend& backend, DType dtype, std::span<const std::uint64_t> dims,
                    Placement placement) {
  std::vector<std::uint64_t> outer(dims.begin(), dims.end());
  const std::size_t last = outer.empty() ? 0 : outer.size() - 1;
  if (placement == Placement::transposed && outer.size() > 1) std::swap(outer[0], outer[last]);
  if (placement == Placement::spread) {
    for (std::uint64_t& dim : outer) dim = 2 * dim + 1;
  }
  std::uint64_t count = placement == Placement::offset ? 3 : 0;
  std::uint64_t product = 1;
  for (const std::uint64_t dim : outer) product *= dim;
  count += product;
  Buffer buffer = backend.empty(dtype, {count + 5}).buffer();
  fill(buffer, std::byte{0xFF}, backend.stream());
  Layout layout(outer, placement == Placement::offset ? 3 : 0);
  if (placement == Placement::transposed && outer.size() > 1) layout = layout.transpose(0, last);
  if (placement == Placement::spread) {
    std::vector<std::uint64_t> strides(layout.strides().begin(), layout.strides().end());
    for (std::uint64_t& stride : strides) stride *= 2;
    // Every other element along each axis, from the second one on.
    std::uint64_t start = 0;
    for (std::size_t axis = 0; axis < outer.size(); ++axis) start += layout.strides()[axis];
    layout = Layout::strided(dims, strides, start);
  }
  return Tensor(buffer, dtype, layout);
}

/// Writes values through the layout, from the host.
inline void write(const Backend& backend, const Tensor& tensor, const reference::Values& values) {
  backend.synchronize();
  const auto bytes = reference::bytes_of(tensor.dtype(), values);
  const std::size_t size = element_size_bytes(tensor.dtype());
  std::vector<std::byte> all(tensor.buffer().size_bytes());
  copy_d2h_and_wait(all, tensor.buffer());
  for (std::uint64_t i = 0; i < tensor.element_count(); ++i) {
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(i * size), size,
                all.begin() + static_cast<std::ptrdiff_t>(tensor.layout().offset_at(i) * size));
  }
  copy_h2d_and_wait(Buffer(tensor.buffer()), all);
}

/// Bytes of all elements in row-major order; checks that all other bytes of the memory are 0xFF.
inline std::vector<std::byte> read(const Backend& backend, const Tensor& tensor) {
  backend.synchronize();
  const std::size_t size = element_size_bytes(tensor.dtype());
  std::vector<std::byte> all(tensor.buffer().size_bytes());
  copy_d2h_and_wait(all, tensor.buffer());
  std::vector<std::byte> found;
  for (std::uint64_t i = 0; i < tensor.element_count(); ++i) {
    const auto begin =
        all.begin() + static_cast<std::ptrdiff_t>(tensor.layout().offset_at(i) * size);
    found.insert(found.end(), begin, begin + static_cast<std::ptrdiff_t>(size));
    std::fill_n(begin, size, std::byte{0xFF});
  }
  CHECK(std::all_of(all.begin(), all.end(), [](std::byte b) { return b == std::byte{0xFF}; }));
  return found;
}

/// Compares every element; names the first wrong one.
inline void check_result(DType dtype, std::span<const std::byte> found,
                         const reference::Expected& expected) {
  const auto wanted = reference::bytes_of(dtype, expected.values);
  const auto got = reference::values_of(dtype, found, expected.values.dims);
  REQUIRE(found.size() == wanted.size());
  const std::size_t size = element_size_bytes(dtype);
  for (std::size_t i = 0; i < got.at.size(); ++i) {
    const bool is_equal = std::equal(found.begin() + static_cast<std::ptrdiff_t>(i * size),
                                     found.begin() + static_cast<std::ptrdiff_t>((i + 1) * size),
                                     wanted.begin() + static_cast<std::ptrdiff_t>(i * size));
    bool is_right = is_equal;
    if (!is_equal && !expected.slack.empty()) {
      is_right = reference::is_within_slack(expected, i, got.at[i]);
    }
    if (is_right) continue;
    CAPTURE(i);
    CAPTURE(static_cast<double>(got.at[i]));
    FAIL_CHECK("element is wrong; expected " << static_cast<double>(expected.values.at[i]));
    return;
  }
}

}  // namespace hiptool::test
