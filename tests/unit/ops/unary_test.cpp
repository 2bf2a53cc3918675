// SPDX-License-Identifier: MIT
#include "reference/ops/unary.hpp"

#include <cmath>
#include <limits>

#include "for_call.hpp"
#include "hiptool/error.hpp"
#include "hiptool/ops_rows.hpp"
#include "reference/ops/rows.hpp"
#include "unit/ops/all_numbers.hpp"

using namespace hiptool;
using test::Placement;

namespace {

constexpr std::array unary_dtypes{DType::f16, DType::bf16, DType::f32, DType::f64, DType::f8e4m3};

const std::vector<std::vector<std::uint64_t>> unary_shapes{{},     {0},      {1},         {7},
                                                           {1025}, {33, 40}, {3, 1, 5, 8}};

template <class Function>
ErrorCode code_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::internal;
}

}  // namespace

TEST_CASE("unary operations of every number of the small types, and of many others") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : unary_dtypes) {
    CAPTURE(to_string(dtype));
    const auto [bytes, values] = test::every_element(dtype);
    const Tensor x = test::packed_tensor(backend, dtype, bytes, values.dims);
    for (const ops::Unary operation : ops::unary_operations) {
      CAPTURE(ops::to_string(operation));
      const Tensor out = ops::unary(backend, operation, x);
      test::check_result(dtype, test::bytes_on_host(backend, out),
                         reference::unary(operation, dtype, values));
    }
  }
}

TEST_CASE("unary operations and affine of every shape and layout") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : dtypes) {
    CAPTURE(to_string(dtype));
    for (const auto& dims : unary_shapes) {
      const auto values = test::some_values(dtype, dims, 1);
      for (const Placement placement : test::placements) {
        CAPTURE(static_cast<int>(placement));
        Tensor x = test::place(backend, dtype, dims, placement);
        test::write(backend, x, values);
        for (const Placement of_out : {Placement::packed, placement}) {
          Tensor out = test::place(backend, dtype, dims, of_out);
          ops::affine_into(backend, out, x, 3, -7);
          test::check_result(dtype, test::read(backend, out),
                             reference::affine(dtype, values, 3, -7));
          if (!is_floating_point(dtype)) continue;
          for (const ops::Unary operation : {ops::Unary::neg, ops::Unary::sqrt}) {
            Tensor result = test::place(backend, dtype, dims, of_out);
            ops::unary_into(backend, result, operation, x);
            test::check_result(dtype, test::read(backend, result),
                               reference::unary(operation, dtype, values));
          }
        }
        if (is_floating_point(dtype)) ops::sqr_into(backend, x, x);
        ops::affine_into(backend, x, x, 2, 1);
        const auto before = is_floating_point(dtype)
                                ? reference::unary(ops::Unary::sqr, dtype, values).values
                                : values;
        const auto rounded =
            reference::values_of(dtype, reference::bytes_of(dtype, before), before.dims);
        test::check_result(dtype, test::read(backend, x), reference::affine(dtype, rounded, 2, 1));
      }
    }
  }
}

TEST_CASE("silu and gelu end at -0 and infinity, bit by bit") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const long double infinite = std::numeric_limits<long double>::infinity();
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    CAPTURE(to_string(dtype));
    const reference::Values ends{{4}, {-infinite, infinite, -3e4L, 3e4L}};
    const reference::Values expected{{4}, {-0.0L, infinite, -0.0L, 3e4L}};
    const Tensor x = test::packed_tensor(backend, dtype, ends);
    for (const ops::Unary operation : {ops::Unary::silu, ops::Unary::gelu, ops::Unary::gelu_erf}) {
      CAPTURE(ops::to_string(operation));
      CHECK(test::bytes_on_host(backend, ops::unary(backend, operation, x)) ==
            reference::bytes_of(dtype, expected));
    }
    const reference::Values ones{{4}, {1, 1, 1, 1}};
    const Tensor y = test::packed_tensor(backend, dtype, ones);
    for (const ops::Gate kind : {ops::Gate::silu, ops::Gate::gelu, ops::Gate::gelu_erf}) {
      CAPTURE(static_cast<int>(kind));
      const auto got = test::bytes_on_host(backend, ops::gate(backend, kind, x, y));
      CHECK(got == reference::bytes_of(dtype, expected));
      test::check_result(dtype, got, reference::gate(dtype, kind, ends, ones));
    }
  }
}

TEST_CASE("powf, elu and affine use their parameters in the type of the tensor") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : unary_dtypes) {
    CAPTURE(to_string(dtype));
    const auto [bytes, values] = test::every_element(dtype, dtype == DType::f8e4m3 ? 1 : 7);
    const Tensor x = test::packed_tensor(backend, dtype, bytes, values.dims);
    for (const double parameter : {0.0, 1.0, -1.0, 2.0, 3.0, 0.5, -2.5, 0.3}) {
      CAPTURE(parameter);
      test::check_result(dtype, test::bytes_on_host(backend, ops::powf(backend, x, parameter)),
                         reference::powf(dtype, values, parameter));
      if (parameter < 0.4) {
        test::check_result(dtype, test::bytes_on_host(backend, ops::elu(backend, x, parameter)),
                           reference::elu(dtype, values, parameter));
        test::check_result(
            dtype, test::bytes_on_host(backend, ops::affine(backend, x, parameter, 1 - parameter)),
            reference::affine(dtype, values, parameter, 1 - parameter));
      }
    }
  }
  for (const DType dtype : dtypes) {
    if (is_floating_point(dtype)) continue;
    CAPTURE(to_string(dtype));
    const auto values = test::some_values(dtype, std::array<std::uint64_t, 1>{300}, 5);
    const Tensor x = test::packed_tensor(backend, dtype, values);
    for (const double factor : {2.9, -2.9, 1e30, std::nan("")}) {
      CAPTURE(factor);
      test::check_result(dtype,
                         test::bytes_on_host(backend, ops::affine(backend, x, factor, 300.7)),
                         reference::affine(dtype, values, factor, 300.7));
    }
  }
}

TEST_CASE("a row is added to every row") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : dtypes) {
    CAPTURE(to_string(dtype));
    const std::array<std::uint64_t, 2> dims{37, 53};
    const auto values = test::some_values(dtype, dims, 6);
    const auto row = test::some_values(dtype, std::array<std::uint64_t, 1>{53}, 7);
    Tensor x = test::place(backend, dtype, dims, Placement::transposed);
    test::write(backend, x, values);
    const Tensor bias = test::packed_tensor(backend, dtype, row);
    const auto expected = reference::row_bias(dtype, values, row);
    test::check_result(dtype, test::bytes_on_host(backend, ops::row_bias(backend, x, bias)),
                       expected);
    ops::row_bias_into(backend, x, x, bias);
    test::check_result(dtype, test::read(backend, x), expected);
  }
}

TEST_CASE("elementwise operations refuse what does not fit before anything is queued") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const Tensor x = backend.zeros(DType::f32, {4, 6});
  Tensor whole = backend.zeros(DType::i32, {4, 6});
  CHECK(code_of([&] { static_cast<void>(ops::exp(backend, whole)); }) == ErrorCode::unsupported);
  CHECK(code_of([&] { static_cast<void>(ops::powf(backend, whole, 2)); }) ==
        ErrorCode::unsupported);
  CHECK_THROWS_WITH_AS(ops::neg(backend, whole),
                       "neg: i32[4,6] has none of the types f16 bf16 f32 f64 f8e4m3", Error);
  CHECK(code_of([&] { ops::exp_into(backend, whole, x); }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] {
          ops::affine_into(backend, test::for_call(backend.zeros(DType::f32, {6, 4})), x, 1, 1);
        }) == ErrorCode::invalid_argument);
  Tensor shifted = x.with_layout(Layout({4, 5}, 1));
  CHECK(code_of([&] {
          ops::neg_into(backend, shifted, x.with_layout(Layout({4, 5})));
        }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] {
          static_cast<void>(ops::row_bias(backend, x, backend.zeros(DType::f32, {4})));
        }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] {
          static_cast<void>(ops::row_bias(backend, x, backend.zeros(DType::i32, {6})));
        }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] { static_cast<void>(ops::where_cond(backend, x, x, x)); }) ==
        ErrorCode::unsupported);
  const Tensor condition = backend.zeros(DType::u8, {4, 6});
  CHECK(code_of([&] { static_cast<void>(ops::where_cond(backend, condition, x, whole)); }) ==
        ErrorCode::invalid_argument);
  CHECK(code_of([&] {
          static_cast<void>(ops::where_cond(backend, backend.zeros(DType::u8, {6}), x, x));
        }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] {
          ops::cast_into(backend, test::for_call(backend.zeros(DType::i32, {24})), x);
        }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] {
          ops::fill_into(backend,
                         test::for_call(x.with_layout(Layout({1, 6}).broadcast_to({4, 6}))), 1);
        }) == ErrorCode::invalid_argument);
}
