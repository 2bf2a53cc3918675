// SPDX-License-Identifier: MIT
#include "hiptool/ops_move.hpp"

#include "for_call.hpp"
#include "reference/ops/move.hpp"
#include "unit/ops/check_move.hpp"
#include "unit/ops/check_operation.hpp"

using namespace hiptool;
using reference::Values;
using test::Bits;
using test::Placement;

namespace {

// Some exchange axes in whole tiles, in parts of tiles and in pieces of 16 bytes or not.
const std::vector<std::vector<std::uint64_t>> moved_shapes{
    {}, {0}, {1}, {7}, {1025}, {33, 40}, {3, 1, 5, 8}, {130, 2, 150}, {144, 272}};

ErrorCode copy_2d_error(const Backend& backend, const Tensor& from, Tensor to,
                        const ops::Rows& rows) {
  return test::code_of([&] { ops::copy_2d(backend, to, from, rows); });
}

}  // namespace

TEST_CASE("copies of every size of element, shape and pair of layouts keep all bits") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : {DType::f8e4m3, DType::bf16, DType::f32, DType::f64}) {
    CAPTURE(to_string(dtype));
    for (const auto& dims : moved_shapes) {
      const Values values = test::some_values(test::bits_dtype(dtype), dims, 3);
      for (const Placement from : test::placements) {
        Bits x(backend, dtype, dims, from, &values);
        for (const Placement to : test::placements) {
          CAPTURE(static_cast<int>(from));
          CAPTURE(static_cast<int>(to));
          Bits out(backend, dtype, dims, to);
          ops::copy_into(backend, out.tensor, x.tensor);
          out.check(values);
        }
        x.check(values);
      }
    }
  }
}

TEST_CASE("every dtype can be copied, also onto itself") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const std::vector<std::uint64_t> dims{20, 17};
  for (const DType dtype : dtypes) {
    const Values values = test::some_values(test::bits_dtype(dtype), dims, 4);
    Bits x(backend, dtype, dims, Placement::transposed, &values);
    const Tensor y = ops::copy(backend, x.tensor);
    CHECK(y.dtype() == dtype);
    CHECK(y.layout().is_contiguous());
    test::check_bits(backend, y, values);
    ops::copy_into(backend, x.tensor, x.tensor);
    x.check(values);
    CHECK(ops::contiguous(backend, y).address() == y.address());
    test::check_bits(backend, ops::contiguous(backend, x.tensor), values);
  }
}

TEST_CASE("transposed copies of parts of larger matrices, aligned or not") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::i64}) {
    CAPTURE(to_string(dtype));
    for (const std::uint64_t start : {0u, 1u, 16u}) {
      CAPTURE(start);
      const Values whole = test::some_values(test::bits_dtype(dtype), std::array{176ul, 192ul}, 5);
      Bits x(backend, dtype, {{176, 192}}, Placement::packed, &whole);
      Bits out(backend, dtype, {{208, 160}}, Placement::packed);
      const auto part = [&](const Layout& layout, std::uint64_t rows, std::uint64_t columns) {
        return layout.narrow(0, 2, rows).narrow(1, start, columns);
      };
      const Tensor from = x.tensor.with_layout(part(x.tensor.layout(), 137, 171).transpose(0, 1));
      Tensor to = out.tensor.with_layout(part(out.tensor.layout(), 171, 137));
      ops::copy_into(backend, to, from);
      Values wanted{{171, 137}, {}};
      for (std::uint64_t row = 0; row < 171; ++row) {
        for (std::uint64_t column = 0; column < 137; ++column) {
          wanted.at.push_back(whole.at[(column + 2) * 192 + row + start]);
        }
      }
      const Tensor bits(out.bits.buffer(), out.bits.dtype(), to.layout());
      test::check_result(bits.dtype(), test::read(backend, bits), {wanted, {}});
    }
  }
}

TEST_CASE("copies repeat broadcast elements") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const Values values = test::some_values(DType::i32, std::array{1ul, 40ul}, 6);
  Bits x(backend, DType::i32, {{1, 40}}, Placement::packed, &values);
  Bits out(backend, DType::i32, {{40, 24}}, Placement::packed);
  const Layout row = x.tensor.layout().broadcast_to({24, 40});
  ops::copy_into(backend, out.tensor, x.tensor.with_layout(row.transpose(0, 1)));
  Values wanted{{40, 24}, {}};
  for (std::size_t i = 0; i < 40 * 24; ++i) wanted.at.push_back(values.at[i / 24]);
  out.check(wanted);
}

TEST_CASE("copies refuse what does not fit") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const Tensor x = backend.zeros(DType::f32, {4, 6});
  const auto refused = [&](Tensor out) {
    return test::code_of([&] { ops::copy_into(backend, out, x); }) == ErrorCode::invalid_argument;
  };
  CHECK(refused(backend.zeros(DType::i32, {4, 6})));
  CHECK(refused(backend.zeros(DType::f32, {6, 4})));
  const Tensor square = backend.zeros(DType::f32, {5, 5});
  CHECK(test::code_of([&] {
          ops::copy_into(
              backend, test::for_call(square.with_layout(square.layout().transpose(0, 1))), square);
        }) == ErrorCode::invalid_argument);
}

TEST_CASE("copy_2d copies rows between tensors and inside one") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : {DType::u8, DType::bf16, DType::f32, DType::f64}) {
    const Values a = test::some_values(test::bits_dtype(dtype), std::array{300ul}, 7);
    const Values b = test::some_values(test::bits_dtype(dtype), std::array{400ul}, 8);
    Bits x(backend, dtype, {{300}}, Placement::offset, &a);
    Bits y(backend, dtype, {{400}}, Placement::packed, &b);
    ops::copy_2d(backend, y.tensor, x.tensor, {9, 24, 43, 32, 32, 20});
    y.check(reference::copy_2d(a, b, 9, 24, 32, 43, 20, 32));
    // Columns 0 to 3 of a matrix of 10 columns to columns 6 to 9.
    ops::copy_2d(backend, x.tensor, x.tensor, {30, 4, 10, 10, 6, 0});
    x.check(reference::copy_2d(a, a, 30, 4, 10, 10, 0, 6));
  }
}

TEST_CASE("copy_2d checks strides, bounds and overlap; without rows it does nothing") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  // The memory goes on after the tensors.
  const Tensor memory = backend.zeros(DType::f32, {400});
  const Tensor x = memory.with_layout(Layout({100}));
  Tensor y = memory.with_layout(Layout({100}, 200));
  const auto error = [&](const ops::Rows& rows) { return copy_2d_error(backend, x, y, rows); };
  constexpr std::uint64_t huge = ~std::uint64_t{0};
  ops::copy_2d(backend, y, x, {0, 5, 1, 1, huge, huge});
  ops::copy_2d(backend, y, x, {5, 0, 1, 1, huge, huge});
  ops::copy_2d(backend, y, x, {1, 100, 0, 7, 0, 0});  // the stride of a single row is not used
  ops::copy_2d(backend, y, x, {10, 10, 10, 10, 0, 0});
  CHECK(error({2, 10, 9, 10, 0, 0}) == ErrorCode::invalid_argument);
  CHECK(error({2, 10, 10, 9, 0, 0}) == ErrorCode::invalid_argument);
  CHECK(error({10, 10, 10, 10, 1, 0}) == ErrorCode::out_of_bounds);
  CHECK(error({10, 10, 10, 10, 0, 1}) == ErrorCode::out_of_bounds);
  CHECK(error({11, 10, 10, 10, 0, 0}) == ErrorCode::out_of_bounds);
  CHECK(error({1, 101, 101, 101, 0, 0}) == ErrorCode::out_of_bounds);
  CHECK(error({huge, 1, huge, 1, 0, 0}) == ErrorCode::out_of_bounds);
  CHECK(error({1, 1, 1, 1, huge, 0}) == ErrorCode::out_of_bounds);
  CHECK(copy_2d_error(backend, x, x, {5, 6, 10, 10, 0, 5}) == ErrorCode::invalid_argument);
  CHECK(copy_2d_error(backend, x, x, {5, 6, 10, 10, 0, 6}) == ErrorCode::invalid_argument);
  CHECK(copy_2d_error(backend, x, x, {5, 4, 10, 10, 0, 0}) == ErrorCode::invalid_argument);
  CHECK(copy_2d_error(backend, x, x, {2, 4, 10, 11, 0, 5}) == ErrorCode::invalid_argument);
  const Tensor z = backend.zeros(DType::i32, {100});
  CHECK(copy_2d_error(backend, x, z, {1, 1, 1, 1, 0, 0}) == ErrorCode::invalid_argument);
}

TEST_CASE("concat along every axis, of every layout") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : {DType::f8e4m3, DType::f16, DType::f32, DType::i64}) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      for (const Placement placement : test::placements) {
        std::vector<Values> values;
        std::vector<Tensor> parts;
        std::uint64_t length = 0;
        for (const std::uint64_t own : {3u, 0u, 8u, 1u}) {
          std::vector<std::uint64_t> dims{6, 5, 8};
          dims[axis] = own;
          length += own;
          values.push_back(test::some_values(test::bits_dtype(dtype), dims, 9));
          parts.push_back(Bits(backend, dtype, dims, placement, &values.back()).tensor);
        }
        std::vector<std::uint64_t> dims{6, 5, 8};
        dims[axis] = length;
        Bits out(backend, dtype, dims, placement);
        ops::concat_into(backend, out.tensor, parts, axis);
        const Values wanted = reference::concat(values, axis);
        out.check(wanted);
        test::check_bits(backend, ops::concat(backend, parts, axis), wanted);
      }
    }
  }
}

TEST_CASE("concat refuses what does not fit") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  Tensor a = backend.zeros(DType::f32, {2, 3});
  const auto refused = [&](std::initializer_list<Tensor> parts, std::size_t axis) {
    return test::code_of([&] { static_cast<void>(ops::concat(backend, parts, axis)); }) ==
           ErrorCode::invalid_argument;
  };
  CHECK(refused({}, 0));
  CHECK(refused({a}, 2));
  CHECK(refused({backend.zeros(DType::f32, std::initializer_list<std::uint64_t>{})}, 0));
  CHECK(refused({a, backend.zeros(DType::f32, {2, 4})}, 0));
  CHECK(refused({a, backend.zeros(DType::f32, {2})}, 0));
  CHECK(refused({a, backend.zeros(DType::f16, {2, 3})}, 0));
  CHECK_FALSE(refused({a, backend.zeros(DType::f32, {2, 4})}, 1));
  CHECK(test::code_of([&] { ops::concat_into(backend, a, {a}, 0); }) ==
        ErrorCode::invalid_argument);
}
