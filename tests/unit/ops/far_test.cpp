// SPDX-License-Identifier: MIT
/// Indices that need more than 31 and 32 bits: rows that are so far apart in memory that is hardly
/// touched, and the long shapes on which libraries were reported wrong (`run-kernel --shapes
/// traps`), with few terms. Every element is compared with whole numbers.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "hiptool/matmul.hpp"
#include "hiptool/ops.hpp"
#include "hiptool/ops_move.hpp"
#include "hiptool/ops_rows.hpp"
#include "sanitized.hpp"
#include "support.hpp"

using namespace hiptool;

namespace {

using Numbers = std::vector<std::uint64_t>;

/// A sanitizer keeps a shadow of all memory.
const std::uint64_t far_apart = (test::is_sanitized ? 1u << 16 : 1u << 30) + 3;

/// Rows of `width` elements, `far_apart` elements apart: with five of bytes the last one begins
/// beyond 2^32, with three of halves beyond 2^31.
template <class Element>
struct FarRows {
  FarRows(const Device& device, DType type, std::uint64_t row_count, std::uint64_t row_width)
      : rows(row_count),
        width(row_width),
        buffer(device, ((rows - 1) * far_apart + width) * sizeof(Element)),
        tensor(buffer, type, Layout::strided(Numbers{rows, width}, Numbers{far_apart, 1})) {}

  Element& at(std::uint64_t row, std::uint64_t column) const {
    return static_cast<Element*>(buffer.address())[row * far_apart + column];
  }

  std::uint64_t rows;
  std::uint64_t width;
  Buffer buffer;
  Tensor tensor;
};

std::uint8_t number_of(std::uint64_t row, std::uint64_t column) {
  return static_cast<std::uint8_t>(row * 50 + column * 7);
}

std::uint16_t half_of(int number) { return to_half(static_cast<float>(number)).bits; }

/// Whole numbers from -2 to 2, and from -3 to 3.
float left_number(std::uint64_t row, std::uint64_t term) {
  return static_cast<float>((row * 7 + term * 3) % 5) - 2;
}
float right_number(std::uint64_t term, std::uint64_t column) {
  return static_cast<float>((term * 5 + column) % 7) - 3;
}

void check_long_product(const Backend& backend, std::uint64_t m, std::uint64_t n, std::uint64_t k,
                        bool is_right_turned) {
  CAPTURE(m);
  CAPTURE(n);
  std::vector<float> left(m * k);
  std::vector<float> right(k * n);
  for (std::uint64_t i = 0; i < m * k; ++i) left[i] = left_number(i / k, i % k);
  for (std::uint64_t i = 0; i < k * n; ++i) {
    right[i] = is_right_turned ? right_number(i % k, i / k) : right_number(i / n, i % n);
  }
  const Tensor a = Tensor::from_host(backend.device(), left, {m, k});
  Tensor b = is_right_turned ? Tensor::from_host(backend.device(), right, {n, k})
                             : Tensor::from_host(backend.device(), right, {k, n});
  if (is_right_turned) b = b.with_layout(b.layout().transpose(0, 1));
  const Tensor c = ops::matmul(backend, a, b);
  backend.synchronize();
  const std::vector<float> found = c.to_host<float>();
  REQUIRE(found.size() == m * n);
  std::uint64_t wrong = 0;
  std::uint64_t first = 0;
  for (std::uint64_t i = 0; i < m; ++i) {
    for (std::uint64_t j = 0; j < n; ++j) {
      float want = 0;
      for (std::uint64_t p = 0; p < k; ++p) want += left_number(i, p) * right_number(p, j);
      if (found[i * n + j] != want && wrong++ == 0) first = i * n + j;
    }
  }
  CAPTURE(first);
  CHECK(wrong == 0);
}

}  // namespace

TEST_SUITE_BEGIN("far indices");

TEST_CASE("elements beyond 2^32 of their memory: add, copy, indexing, sums") {
  Platforms platforms;
  const Backend backend{find_device(platforms, "cpu:0")};
  constexpr std::uint64_t rows = 5;
  constexpr std::uint64_t width = 1000;
  const FarRows<std::uint8_t> x(backend.device(), DType::u8, rows, width);
  const FarRows<std::uint8_t> out(backend.device(), DType::u8, rows, width);
  for (std::uint64_t i = 0; i < rows; ++i) {
    for (std::uint64_t j = 0; j < width; ++j) x.at(i, j) = number_of(i, j);
  }
  const auto wrong_in_out = [&](auto value) {
    backend.synchronize();
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < rows; ++i) {
      for (std::uint64_t j = 0; j < width; ++j) wrong += out.at(i, j) != value(i, j) ? 1u : 0u;
    }
    return wrong;
  };
  Tensor to = out.tensor;
  ops::add_into(backend, to, x.tensor, x.tensor);
  CHECK(wrong_in_out([](auto i, auto j) { return std::uint8_t(2 * number_of(i, j)); }) == 0);
  ops::copy_into(backend, to, x.tensor);
  CHECK(wrong_in_out(number_of) == 0);
  const Tensor backwards =
      Tensor::from_host(backend.device(), std::vector<std::int64_t>{4, 3, 2, 1, 0}, {rows});
  ops::index_select_into(backend, to, x.tensor, backwards, 0);
  CHECK(wrong_in_out([](auto i, auto j) { return number_of(4 - i, j); }) == 0);
  const std::array<std::size_t, 1> last{1};
  const Tensor sums = ops::reduce(backend, ops::Reduce::sum, x.tensor, last);
  backend.synchronize();
  const auto found = sums.to_host<std::uint8_t>();
  REQUIRE(found.size() == rows);
  for (std::uint64_t i = 0; i < rows; ++i) {
    std::uint8_t want = 0;
    for (std::uint64_t j = 0; j < width; ++j) want = std::uint8_t(want + number_of(i, j));
    CHECK(found[i] == want);
  }
}

TEST_CASE("products of operands and into results beyond 2^31 elements of their memory") {
  Platforms platforms;
  const Backend backend{find_device(platforms, "cpu:0")};
  constexpr std::uint64_t rows = 3;
  constexpr std::uint64_t k = 16;
  constexpr std::uint64_t n = 24;
  const FarRows<std::uint16_t> a(backend.device(), DType::f16, rows, k);
  const FarRows<std::uint16_t> b(backend.device(), DType::f16, rows, k);  // transposed: k x 3
  const FarRows<std::uint16_t> c(backend.device(), DType::f16, rows, n);
  std::vector<std::uint16_t> near_right(k * n);
  for (std::uint64_t p = 0; p < k; ++p) {
    for (std::uint64_t i = 0; i < rows; ++i) {
      a.at(i, p) = half_of(static_cast<int>(left_number(i, p)));
      b.at(i, p) = half_of(static_cast<int>(right_number(p, i)));
    }
    for (std::uint64_t j = 0; j < n; ++j) {
      near_right[p * n + j] = half_of(static_cast<int>(right_number(p, j)));
    }
  }
  const auto want = [](std::uint64_t i, std::uint64_t j) {
    float sum = 0;
    for (std::uint64_t p = 0; p < k; ++p) sum += left_number(i, p) * right_number(p, j);
    return sum;
  };
  const Buffer right_bytes(backend.device(), near_right.size() * 2);
  std::memcpy(right_bytes.address(), near_right.data(), near_right.size() * 2);
  const Tensor right(right_bytes, DType::f16, Layout({k, n}));
  Tensor out = c.tensor;
  ops::matmul_into(backend, out, a.tensor, right);
  backend.synchronize();
  for (std::uint64_t i = 0; i < rows; ++i) {
    for (std::uint64_t j = 0; j < n; ++j) CHECK(to_float(Half{c.at(i, j)}) == want(i, j));
  }
  const Tensor turned = b.tensor.with_layout(b.tensor.layout().transpose(0, 1));
  const Tensor square = ops::matmul(backend, a.tensor, turned);
  backend.synchronize();
  const auto* const found = static_cast<const std::uint16_t*>(square.buffer().address());
  for (std::uint64_t i = 0; i < rows * rows; ++i) {
    CHECK(to_float(Half{found[i]}) == want(i / rows, i % rows));
  }
}

TEST_CASE("the long shapes of the traps, with few terms") {
  Platforms platforms;
  const Backend backend{test::device(platforms)};
  const std::uint64_t less = test::is_sanitized ? 64 : 1;
  check_long_product(backend, 600'000 / less, 4, 8, true);     // 524288 rows and more
  check_long_product(backend, 2, 8'650'752 / less, 2, false);  // grid.y of tiles of 128
  check_long_product(backend, 1, 5'326'464 / less, 2, true);
}

TEST_SUITE_END();
