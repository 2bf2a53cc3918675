// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "for_call.hpp"
#include "hiptool/error.hpp"
#include "hiptool/libraries.hpp"
#include "hiptool/matmul.hpp"
#include "hiptool/ops_move.hpp"
#include "hiptool/ops_rows.hpp"
#include "reference/ops/matmul.hpp"
#include "unit/ops/check_operation.hpp"

using namespace hiptool;
using reference::Values;
using test::Placement;

namespace {

using I8Dims = std::vector<std::uint64_t>;

Values bytes_between(const I8Dims& dims, int least, int most, std::uint32_t seed) {
  std::mt19937 random(seed);
  Values values{dims, {}};
  std::uint64_t count = 1;
  for (const std::uint64_t dim : dims) count *= dim;
  const auto width = static_cast<std::uint32_t>(most - least + 1);
  for (std::uint64_t i = 0; i < count; ++i) {
    values.at.push_back(static_cast<int>(random() % width) + least);
  }
  return values;
}

Tensor put_i8(const Backend& backend, const Values& values, Placement placement) {
  const Tensor tensor = test::place(backend, DType::i8, values.dims, placement);
  test::write(backend, tensor, values);
  return tensor;
}

void check_i32_product(const Backend& backend, const Values& a, const Values& b, Placement of_a,
                       Placement of_b, Placement of_out) {
  const auto expected = reference::matmul_i32(a, b);
  const Tensor x = put_i8(backend, a, of_a);
  const Tensor y = put_i8(backend, b, of_b);
  Tensor out = test::place(backend, DType::i32, expected.values.dims, of_out);
  // Our kernel needs no copy, and OpenBLAS has no such product.
  ops::matmul_i32_into(backend, out, x, y, {.no_copies = true, .library = ops::Library::automatic});
  test::check_result(DType::i32, test::read(backend, out), expected);
  CHECK(test::read(backend, x) == reference::bytes_of(DType::i8, a));
  CHECK(test::read(backend, y) == reference::bytes_of(DType::i8, b));
}

}  // namespace

TEST_CASE("products of i8: any size and layout") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const std::vector<std::pair<I8Dims, I8Dims>> shapes{
      {{1, 1}, {1, 1}},          {{1, 70}, {70, 9}},           {{5, 33}, {33, 1}},
      {{64, 32}, {32, 64}},      {{65, 31}, {31, 129}},        {{3, 129}, {129, 66}},
      {{2, 7, 40}, {2, 40, 70}}, {{3, 1, 4, 9}, {1, 2, 9, 5}}, {{1, 6, 20}, {3, 20, 4}}};
  std::size_t turn = 0;
  for (const auto& [a_dims, b_dims] : shapes) {
    CAPTURE(turn);
    const Values a = bytes_between(a_dims, -128, 127, 1);
    const Values b = bytes_between(b_dims, -128, 127, 2);
    for (const Placement of_a : test::placements) {
      const auto other = [&](std::size_t by) {
        return test::placements[(turn + by) % test::placements.size()];
      };
      check_i32_product(backend, a, b, of_a, other(0), other(1));
      ++turn;
    }
  }
  // OpenBLAS has no such product.
  if (backend.device().is_host_memory()) CHECK(ops::library_status(backend)[0].calls == 0);
}

TEST_CASE("products of i8: sums beyond 32 bits wrap") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  struct Case {
    int left;
    int right;
    std::uint64_t k;
  };
  for (const Case& one : {Case{-128, -128, 131072}, Case{-128, 127, 140000}}) {
    CAPTURE(one.k);
    const Values a = bytes_between({1, one.k}, one.left, one.left, 1);
    const Values b = bytes_between({one.k, 1}, one.right, one.right, 1);
    check_i32_product(backend, a, b, Placement::packed, Placement::packed, Placement::packed);
  }
  const Values a = bytes_between({1, 131072}, -128, -128, 1);
  CHECK(reference::matmul_i32(a, {{131072, 1}, a.at}).values.at[0] == -0x1p31L);
}

TEST_CASE("products of i8: without terms, without results, and what does not fit") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const auto zeros = [&](const I8Dims& dims) { return backend.zeros(DType::i8, dims); };
  const Tensor nothing = ops::matmul_i32(backend, zeros({3, 0}), zeros({0, 70}));
  CHECK(nothing.dtype() == DType::i32);
  CHECK(test::read(backend, nothing) == std::vector<std::byte>(3 * 70 * 4));
  CHECK(ops::matmul_i32(backend, zeros({0, 5}), zeros({5, 4})).element_count() == 0);
  const Tensor a = zeros({4, 8});
  CHECK_THROWS_WITH_AS(ops::matmul_i32(backend, a, a),
                       doctest::Contains("matmul_i32: i8[4,8] and i8[4,8] do not fit"), Error);
  CHECK_THROWS_WITH_AS(ops::matmul_i32(backend, a, backend.zeros(DType::u8, {8, 2})),
                       doctest::Contains("matmul_i32: u8[8,2]; it takes i8"), Error);
  CHECK_THROWS_WITH_AS(
      ops::matmul_i32_into(backend, test::for_call(backend.zeros(DType::f32, {4, 2})), a,
                           zeros({8, 2})),
      doctest::Contains("the output is f32[4,2], and the result is i32[4,2]"), Error);
}

TEST_CASE("i8 is for copies and products alone") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  CHECK(dtype_from_name("i8") == DType::i8);
  CHECK(element_size_bytes(DType::i8) == 1);
  CHECK_FALSE(is_floating_point(DType::i8));
  CHECK(std::find(dtypes.begin(), dtypes.end(), DType::i8) == dtypes.end());
  const Values values = bytes_between({6, 20}, -128, 127, 3);
  Tensor x = put_i8(backend, values, Placement::transposed);
  const Tensor twice = ops::concat(backend, std::vector{x, ops::copy(backend, x)}, 0);
  auto bytes = reference::bytes_of(DType::i8, values);
  bytes.insert(bytes.end(), bytes.begin(), bytes.begin() + 120);
  CHECK(test::read(backend, twice) == bytes);
  const auto is_refused = [](const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.code() == ErrorCode::unsupported;
    }
    return false;
  };
  CHECK(is_refused([&] { static_cast<void>(ops::add(backend, x, x)); }));
  CHECK(is_refused([&] { static_cast<void>(ops::neg(backend, x)); }));
  CHECK(is_refused([&] { static_cast<void>(ops::cast(backend, x, DType::f32)); }));
  CHECK(is_refused(
      [&] { static_cast<void>(ops::cast(backend, backend.zeros(DType::f32, {2}), DType::i8)); }));
  CHECK(is_refused([&] { static_cast<void>(ops::sum(backend, x, {0})); }));
  CHECK(is_refused([&] { static_cast<void>(ops::matmul(backend, x, x)); }));
  CHECK(is_refused([&] { static_cast<void>(ops::fill(backend, DType::i8, {2}, 1)); }));
  CHECK(is_refused([&] { ops::scal(backend, x, 2); }));
  CHECK(is_refused([&] { static_cast<void>(ops::softmax(backend, x)); }));
}
