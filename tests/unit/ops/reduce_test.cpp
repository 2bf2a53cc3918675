// SPDX-License-Identifier: MIT
#include "reference/ops/reduce.hpp"

#include <algorithm>
#include <cmath>

#include "for_call.hpp"
#include "hiptool/error.hpp"
#include "unit/ops/check_operation.hpp"

using namespace hiptool;
using ops::Reduce;
using test::Placement;

namespace {

using Dims = std::vector<std::uint64_t>;
using Axes = std::vector<std::size_t>;

struct ReduceCase {
  Dims dims;
  Axes axes;
};

const std::vector<ReduceCase> reduce_cases{{{}, {}},
                                           {{7}, {0}},
                                           {{33, 40}, {1}},
                                           {{40, 33}, {0}},
                                           {{3, 100}, {0, 1}},
                                           {{5, 1, 72}, {1}},
                                           {{6, 4, 20}, {0, 2}},
                                           {{70, 20}, {0}},
                                           {{9, 6, 7}, {1}},
                                           {{2, 3, 40}, {2, 0}},
                                           {{2, 3, 1, 2, 1, 3, 2, 2}, {1, 3, 6}}};

constexpr std::array reduce_kinds{Reduce::sum, Reduce::min, Reduce::max, Reduce::argmin,
                                  Reduce::argmax};

DType reduced_type(Reduce operation, DType dtype) {
  return operation == Reduce::argmin || operation == Reduce::argmax ? DType::u32 : dtype;
}

reference::Values small_wholes(const Dims& dims, std::uint32_t seed, bool has_sign) {
  reference::Values values{dims, {}};
  std::mt19937 random(seed);
  std::uint64_t count = 1;
  for (const std::uint64_t dim : dims) count *= dim;
  for (std::uint64_t i = 0; i < count; ++i) {
    values.at.push_back(static_cast<long double>(random() % 17) - (has_sign ? 8 : 0));
  }
  return values;
}

void check_reduction(const Backend& backend, Reduce operation, const Tensor& x,
                     const reference::Values& values, const Axes& axes, bool keep_dims) {
  const auto expected = reference::reduce(operation, x.dtype(), values, axes, keep_dims);
  const DType type = reduced_type(operation, x.dtype());
  Tensor out = test::place(backend, type, expected.values.dims,
                           keep_dims ? Placement::spread : Placement::packed);
  CAPTURE(to_string(operation));
  ops::reduce_into(backend, out, operation, x, axes);
  test::check_result(type, test::read(backend, out), expected);
}

/// The one value that a whole tensor of these becomes.
template <class Value>
Value reduced_value(const Backend& backend, Reduce operation, const std::vector<Value>& values) {
  const Tensor x =
      Tensor::from_host({backend.allocator(), backend.stream()}, values, {values.size()});
  const std::size_t axis = 0;
  return ops::reduce(backend, operation, x, {&axis, 1}).to_host<Value>(backend.stream())[0];
}

}  // namespace

TEST_CASE("reductions of every type, shape and layout") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : dtypes) {
    CAPTURE(to_string(dtype));
    for (const ReduceCase& each : reduce_cases) {
      CAPTURE(each.dims.size());
      const auto any = test::some_values(dtype, each.dims, 3);
      const auto small = small_wholes(each.dims, 4, dtype != DType::u8 && dtype != DType::u32);
      for (const Placement placement : test::placements) {
        CAPTURE(static_cast<int>(placement));
        const Tensor x = test::place(backend, dtype, each.dims, placement);
        test::write(backend, x, any);
        const bool keep_dims = placement == Placement::spread;
        for (const Reduce operation : reduce_kinds) {
          if (operation == Reduce::sum) continue;
          // Two of the four for each layout.
          const bool is_least = operation == Reduce::min || operation == Reduce::argmax;
          if (is_least != (keep_dims || placement == Placement::transposed)) continue;
          check_reduction(backend, operation, x, any, each.axes, keep_dims);
        }
        test::write(backend, x, small);
        check_reduction(backend, Reduce::sum, x, small, each.axes, keep_dims);
      }
    }
  }
}

TEST_CASE("reductions of several chunks, along rows and columns") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : {DType::u8, DType::f16, DType::f64}) {
    CAPTURE(to_string(dtype));
    for (const ReduceCase& each : std::vector<ReduceCase>{
             {{2, 5000}, {1}}, {{2, 4099}, {1}}, {{4500, 9}, {0}}, {{4500, 24}, {0}}}) {
      const auto values = test::some_values(dtype, each.dims, 5);
      const auto small = small_wholes(each.dims, 6, dtype != DType::u8);
      const Tensor x = test::place(backend, dtype, each.dims, Placement::packed);
      test::write(backend, x, values);
      check_reduction(backend, Reduce::max, x, values, each.axes, false);
      check_reduction(backend, Reduce::argmin, x, values, each.axes, true);
      test::write(backend, x, small);
      check_reduction(backend, Reduce::sum, x, small, each.axes, false);
      check_reduction(backend, Reduce::argmax, x, small, each.axes, false);
    }
  }
}

TEST_CASE("sums round once, whatever the layout of their elements is") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  SUBCASE("5000 times 0.1 in halves") {
    const Half tenth = to_half(0.1f);
    const Half sum = reduced_value(backend, Reduce::sum, std::vector<Half>(5000, tenth));
    CHECK(sum == to_half(5000 * to_float(tenth)));
  }
  SUBCASE("partial sums above the largest half cancel") {
    std::vector<Half> values(3000, to_half(60000.0f));
    std::fill(values.begin() + 1500, values.end(), to_half(-60000.0f));
    values.push_back(to_half(3.0f));
    CHECK(reduced_value(backend, Reduce::sum, values) == to_half(3.0f));
  }
  SUBCASE("the same bits along rows, columns and elements apart") {
    for (const DType dtype : {DType::f16, DType::f32, DType::f64}) {
      CAPTURE(to_string(dtype));
      for (const std::uint64_t length : {1ull, 3ull, 330ull, 4400ull}) {
        CAPTURE(length);
        reference::Values values{{length, 24}, {}};
        std::mt19937 random(7);
        for (std::uint64_t i = 0; i < 24 * length; ++i) {
          values.at.push_back((static_cast<long double>(random()) - 0x1p31L) * 0x1p-33L);
        }
        values = reference::values_of(dtype, reference::bytes_of(dtype, values), values.dims);
        const auto expected = reference::reduce(Reduce::sum, dtype, values, Axes{0}, false);
        std::vector<std::byte> first;
        for (const Placement placement : test::placements) {
          const Tensor x = test::place(backend, dtype, values.dims, placement);
          test::write(backend, x, values);
          const Tensor out = ops::sum(backend, x, {0});
          const auto found = test::read(backend, out);
          test::check_result(dtype, found, expected);
          if (placement == Placement::packed) first = found;
          CHECK(found == first);
        }
      }
    }
  }
}

TEST_CASE("edges of reductions") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const float nan = std::nanf("");
  const float inf = INFINITY;
  const std::vector<float> zeros{0.0f, -0.0f, 0.0f};
  CHECK(std::signbit(reduced_value(backend, Reduce::min, zeros)));
  CHECK_FALSE(std::signbit(reduced_value(backend, Reduce::max, zeros)));
  CHECK_FALSE(std::signbit(reduced_value(backend, Reduce::sum, std::vector<float>{-0.0f})));
  CHECK(std::isnan(reduced_value(backend, Reduce::sum, std::vector<float>{inf, 1.0f, -inf})));
  CHECK(std::isnan(reduced_value(backend, Reduce::min, std::vector<float>{-inf, -nan, 1.0f})));
  const Tensor x = Tensor::from_host(
      {backend.allocator(), backend.stream()},
      std::vector<float>{0.0f, -0.0f, 1.0f, -nan, nan, 2.0f, 2.0f, 1.0f, inf}, {3, 3});
  CHECK(ops::argmin(backend, x, {1}).to_host<std::uint32_t>(backend.stream()) ==
        std::vector<std::uint32_t>{0, 0, 1});
  CHECK(ops::argmax(backend, x, {1}).to_host<std::uint32_t>(backend.stream()) ==
        std::vector<std::uint32_t>{2, 0, 2});
  CHECK(ops::argmax(backend, x, {1, 0}).to_host<std::uint32_t>(backend.stream()) ==
        std::vector<std::uint32_t>{3});

  const Tensor nothing = backend.empty(DType::f16, {3, 0});
  CHECK(ops::sum(backend, nothing, {1}).to_host<Half>(backend.stream()) == std::vector<Half>(3));
  CHECK(ops::max(backend, nothing, {0}).element_count() == 0);
  CHECK(ops::sum(backend, x, {0, 1}, true).layout().rank() == 2);
  CHECK_THROWS_WITH_AS(ops::max(backend, nothing, {1}),
                       doctest::Contains("max: no elements along the reduced axes of f16[3,0]"),
                       Error);
  CHECK_THROWS_AS(ops::sum(backend, x, {2}), Error);
  CHECK_THROWS_AS(ops::sum(backend, x, {1, 1}), Error);
  CHECK_THROWS_AS(ops::sum_into(backend, test::for_call(backend.empty(DType::f64, {3})), x, {1}),
                  Error);
  CHECK_THROWS_AS(ops::argmax_into(backend, test::for_call(backend.empty(DType::f32, {3})), x, {1}),
                  Error);
  CHECK_THROWS_AS(ops::sum_into(backend, test::for_call(x.with_layout(Layout({3}, 3))), x, {1}),
                  Error);
}
