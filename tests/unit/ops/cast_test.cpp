// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstring>

#include "reference/ops/unary.hpp"
#include "unit/ops/all_numbers.hpp"

using namespace hiptool;
using test::Placement;

namespace {

const std::vector<std::vector<std::uint64_t>> cast_shapes{{},     {0},      {1},         {7},
                                                          {1025}, {33, 40}, {3, 1, 5, 8}};

}  // namespace

TEST_CASE("numbers of every type are converted to every other") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType from : dtypes) {
    CAPTURE(to_string(from));
    const auto [bytes, values] = test::every_element(from);
    const Tensor x = test::packed_tensor(backend, from, bytes, values.dims);
    for (const DType to : dtypes) {
      CAPTURE(to_string(to));
      const auto found = test::bytes_on_host(backend, ops::cast(backend, x, to));
      if (from == to) {
        CHECK(found == bytes);
        continue;
      }
      test::check_result(to, found, reference::cast(from, to, values));
    }
  }
}

TEST_CASE("conversions of every shape and layout") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType from : {DType::u8, DType::i16, DType::f32, DType::f64}) {
    for (const DType to : {DType::f8e4m3, DType::u32, DType::i64, from}) {
      CAPTURE(to_string(from));
      CAPTURE(to_string(to));
      for (const auto& dims : cast_shapes) {
        const auto values = test::some_values(from, dims, 1);
        for (const Placement placement : test::placements) {
          const Tensor x = test::place(backend, from, dims, placement);
          test::write(backend, x, values);
          Tensor out = test::place(backend, to, dims, placement);
          ops::cast_into(backend, out, x);
          test::check_result(to, test::read(backend, out), reference::cast(from, to, values));
        }
      }
    }
  }
}

TEST_CASE("a condition chooses elements of every size, layout and type of condition") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : {DType::f8e4m3, DType::bf16, DType::i32, DType::f64}) {
    CAPTURE(to_string(dtype));
    for (const auto& dims : cast_shapes) {
      const auto a = test::some_values(dtype, dims, 1);
      const auto b = test::some_values(dtype, dims, 2);
      const Tensor y = test::packed_tensor(backend, dtype, b);
      for (const DType of_condition : {DType::u8, DType::u32, DType::i64}) {
        auto flags = test::some_values(of_condition, dims, 3);
        // Words of which only the upper or only the lower half is 0.
        for (std::size_t i = 0; i < flags.at.size(); ++i) {
          if (i % 3 == 0) flags.at[i] = 0;
          if (i % 5 == 0 && of_condition == DType::i64) flags.at[i] = std::ldexp(1.0L, 40);
        }
        for (const Placement placement : test::placements) {
          CAPTURE(static_cast<int>(placement));
          Tensor x = test::place(backend, dtype, dims, placement);
          const Tensor condition = test::place(backend, of_condition, dims, placement);
          test::write(backend, x, a);
          test::write(backend, condition, flags);
          Tensor out = test::place(backend, dtype, dims, placement);
          const auto expected = reference::where_cond(flags, a, b);
          ops::where_cond_into(backend, out, condition, x, y);
          test::check_result(dtype, test::read(backend, out), expected);
          ops::where_cond_into(backend, x, condition, x, y);
          test::check_result(dtype, test::read(backend, x), expected);
        }
      }
    }
  }
}

TEST_CASE("operands may be repeated, and bits of NaN are moved as they are") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const std::vector<std::uint32_t> bits{0x7F800001u, 0xFFC00123u, 0x7FC00000u};
  const Tensor numbers = Tensor::from_host_bytes({backend.allocator(), backend.stream()},
                                                 std::as_bytes(std::span(bits)), DType::f32,
                                                 std::array<std::uint64_t, 1>{3});
  const Tensor wide = numbers.with_layout(numbers.layout().broadcast_to({4, 3}));
  const Tensor zero = backend.zeros(DType::f32, {4, 3});
  const std::vector<std::uint8_t> flags{0, 2, 0, 255};
  const Tensor column = Tensor::from_host({backend.allocator(), backend.stream()}, flags, {4, 1});
  const Tensor condition = column.with_layout(column.layout().broadcast_to({4, 3}));
  const auto check = [&](const Tensor& out, bool is_everywhere) {
    const auto found = test::bytes_on_host(backend, out);
    for (std::size_t i = 0; i < 12; ++i) {
      std::uint32_t word = 0;
      std::memcpy(&word, found.data() + i * 4, 4);
      CHECK(word == (is_everywhere || flags[i / 3] != 0 ? bits[i % 3] : 0));
    }
  };
  check(ops::where_cond(backend, condition, wide, zero), false);
  check(ops::cast(backend, wide, DType::f32), true);
}

TEST_CASE("a value is written through every layout, rounded once to the type") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : dtypes) {
    CAPTURE(to_string(dtype));
    for (const auto& dims : cast_shapes) {
      const auto like = test::some_values(dtype, dims, 1);
      for (const Placement placement : test::placements) {
        Tensor out = test::place(backend, dtype, dims, placement);
        ops::fill_into(backend, out, 0.1);
        test::check_result(dtype, test::read(backend, out), reference::fill(dtype, like, 0.1));
      }
    }
    const reference::Values one{{1}, {0}};
    // Numbers that rounding twice would change: 2^-53 and 1 above half of a last place.
    for (const double value : {1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-4 + 0x1p-40,
                               -1e300, 1e39, 65519.9999, 1e-9, -3.7, std::nan("")}) {
      CAPTURE(value);
      test::check_result(dtype, test::bytes_on_host(backend, ops::fill(backend, dtype, {1}, value)),
                         reference::fill(dtype, one, value));
    }
    const std::int64_t big = (std::int64_t{1} << 60) + (std::int64_t{1} << 49) + 1;
    const auto found = test::bytes_on_host(backend, ops::fill(backend, dtype, {1}, big));
    test::check_result(dtype, found,
                       reference::cast(DType::i64, dtype, {{1}, {static_cast<long double>(big)}}));
  }
}
