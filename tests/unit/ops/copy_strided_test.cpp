// SPDX-License-Identifier: MIT
#include "hiptool/error.hpp"
#include "hiptool/ops_move.hpp"
#include "unit/ops/check_move.hpp"

using namespace hiptool;
using reference::Values;
using test::Bits;
using test::Placement;

TEST_CASE("copy_strided writes in row-major order from an offset on, as much as there is room") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const std::vector<std::vector<std::uint64_t>> shapes{{}, {9}, {4, 5}, {3, 4, 5}, {2, 3, 2, 5}};
  for (const DType dtype : {DType::u8, DType::bf16, DType::f32, DType::f64}) {
    CAPTURE(to_string(dtype));
    const DType whole = test::bits_dtype(dtype);
    for (const auto& dims : shapes) {
      const Values values = test::some_values(whole, dims, 3);
      const std::uint64_t count = values.at.size();
      for (const Placement placement : test::placements) {
        const Bits source(backend, dtype, dims, placement, &values);
        for (std::uint64_t room = 0; room <= count + 2; ++room) {
          CAPTURE(room);
          const std::uint64_t offset = 3;
          const Values old = test::some_values(whole, std::array{offset + room}, 4);
          Bits destination(backend, dtype, std::array{offset + room}, Placement::offset, &old);
          const std::uint64_t written = std::min(room, count);
          CHECK(ops::copy_strided(backend, destination.tensor, offset, source.tensor) == written);
          Values wanted = old;
          for (std::uint64_t i = 0; i < written; ++i) wanted.at[offset + i] = values.at[i];
          destination.check(wanted);
        }
        source.check(values);
      }
    }
  }
}

TEST_CASE("copy_strided of repeated elements") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const Values row = test::some_values(DType::i32, std::array{5ul}, 6);
  const Bits source(backend, DType::i32, std::array{5ul}, Placement::packed, &row);
  const Tensor rows = source.tensor.with_layout(source.tensor.layout().broadcast_to({4, 5}));
  const Values old = test::some_values(DType::i32, std::array{13ul}, 7);
  Bits destination(backend, DType::i32, std::array{13ul}, Placement::packed, &old);
  CHECK(ops::copy_strided(backend, destination.tensor, 0, rows) == 13);
  Values wanted{{13}, {}};
  for (std::size_t i = 0; i < 13; ++i) wanted.at.push_back(row.at[i % 5]);
  destination.check(wanted);
}

TEST_CASE("copy_strided refuses what does not fit, and moves nothing without elements") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const Tensor x = backend.zeros(DType::f32, {4, 6});
  Tensor out = backend.zeros(DType::f32, {24});
  const auto error = [&](Tensor destination, std::uint64_t offset, const Tensor& source) {
    return test::code_of([&] { ops::copy_strided(backend, destination, offset, source); });
  };
  CHECK(ops::copy_strided(backend, out, 24, x) == 0);
  CHECK(ops::copy_strided(backend, out, 0, x.with_layout(Layout{0, 6})) == 0);
  CHECK(error(out, 25, x) == ErrorCode::out_of_bounds);
  CHECK(error(out, UINT64_MAX, x) == ErrorCode::out_of_bounds);
  CHECK(error(backend.zeros(DType::i32, {24}), 0, x) == ErrorCode::invalid_argument);
  CHECK(error(x.with_layout(x.layout().transpose(0, 1)), 0, out) == ErrorCode::invalid_argument);
  CHECK(error(x, 0, x) == ErrorCode::invalid_argument);
}
