// SPDX-License-Identifier: MIT
#include "reference/ops/elementwise.hpp"

#include "unit/ops/check_operation.hpp"

using namespace hiptool;
using test::Placement;

namespace {

const std::vector<std::vector<std::uint64_t>> shapes{{},     {0},      {1},         {7},
                                                     {1025}, {33, 40}, {3, 1, 5, 8}};

}  // namespace

TEST_CASE("binary operations and comparisons of every type, shape and layout") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : dtypes) {
    CAPTURE(to_string(dtype));
    for (const auto& dims : shapes) {
      const auto a = test::some_values(dtype, dims, 1);
      const auto b = test::some_values(dtype, dims, 2);
      for (const Placement placement : test::placements) {
        CAPTURE(static_cast<int>(placement));
        const Tensor x = test::place(backend, dtype, dims, placement);
        const Tensor y = test::place(backend, dtype, dims, Placement::packed);
        test::write(backend, x, a);
        test::write(backend, y, b);
        for (int i = 0; i < 6; ++i) {
          CAPTURE(i);
          const auto operation = static_cast<ops::Binary>(i);
          Tensor out = test::place(backend, dtype, dims, placement);
          ops::binary_into(backend, out, operation, x, y);
          test::check_result(dtype, test::read(backend, out),
                             reference::binary(operation, dtype, a, b));
          const auto comparison = static_cast<ops::Compare>(i);
          const Tensor truth = ops::compare(backend, comparison, x, y);
          backend.synchronize();
          const auto flags = truth.to_host<std::uint8_t>(backend.stream());
          test::check_result(DType::u8, std::as_bytes(std::span(flags)),
                             reference::compare(comparison, a, b));
        }
      }
    }
  }
}

TEST_CASE("inputs that are contiguous along another axis than the output") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  struct Case {
    Placement x;
    Placement y;
    Placement out;
  };
  constexpr Case cases[] = {{Placement::transposed, Placement::packed, Placement::packed},
                            {Placement::packed, Placement::transposed, Placement::packed},
                            {Placement::transposed, Placement::transposed, Placement::packed},
                            {Placement::packed, Placement::packed, Placement::transposed},
                            {Placement::transposed, Placement::spread, Placement::packed},
                            {Placement::transposed, Placement::packed, Placement::offset}};
  // Whole pieces, several tiles, parts of tiles; and rows that are no whole pieces.
  const std::vector<std::vector<std::uint64_t>> crossed{{144, 48}, {48, 2, 144}, {33, 40}};
  for (const DType dtype : dtypes) {
    CAPTURE(to_string(dtype));
    for (const auto& dims : crossed) {
      CAPTURE(dims.size());
      const auto a = test::some_values(dtype, dims, 3);
      const auto b = test::some_values(dtype, dims, 4);
      for (std::size_t i = 0; i < std::size(cases); ++i) {
        CAPTURE(i);
        const auto operation = static_cast<ops::Binary>(i);
        const Tensor x = test::place(backend, dtype, dims, cases[i].x);
        const Tensor y = test::place(backend, dtype, dims, cases[i].y);
        Tensor out = test::place(backend, dtype, dims, cases[i].out);
        test::write(backend, x, a);
        test::write(backend, y, b);
        ops::binary_into(backend, out, operation, x, y);
        test::check_result(dtype, test::read(backend, out),
                           reference::binary(operation, dtype, a, b));
      }
    }
  }
}

TEST_CASE("repeated rows and columns, alone and with an input that crosses them") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const std::vector<std::uint64_t> dims{80, 144};
  for (const DType dtype : dtypes) {
    CAPTURE(to_string(dtype));
    const auto a = test::some_values(dtype, dims, 5);
    for (const std::size_t repeated : {std::size_t{0}, std::size_t{1}}) {
      CAPTURE(repeated);
      std::vector<std::uint64_t> line = dims;
      line[repeated] = 1;
      const auto few = test::some_values(dtype, line, 6);
      reference::Values b{dims, {}};
      for (std::uint64_t i = 0; i < dims[0] * dims[1]; ++i) {
        b.at.push_back(few.at[repeated == 0 ? i % dims[1] : i / dims[1]]);
      }
      const Tensor y =
          test::place(backend, dtype, line, repeated == 0 ? Placement::packed : Placement::spread);
      test::write(backend, y, few);
      const Tensor wide = y.with_layout(y.layout().broadcast_to(dims));
      for (const Placement placement : {Placement::packed, Placement::transposed}) {
        CAPTURE(static_cast<int>(placement));
        const Tensor x = test::place(backend, dtype, dims, placement);
        test::write(backend, x, a);
        for (const ops::Binary operation : {ops::Binary::sub, ops::Binary::minimum}) {
          Tensor out = test::place(backend, dtype, dims, Placement::packed);
          ops::binary_into(backend, out, operation, x, wide);
          test::check_result(dtype, test::read(backend, out),
                             reference::binary(operation, dtype, a, b));
        }
        const Tensor truth = ops::compare(backend, ops::Compare::lt, x, wide);
        backend.synchronize();
        const auto flags = truth.to_host<std::uint8_t>(backend.stream());
        test::check_result(DType::u8, std::as_bytes(std::span(flags)),
                           reference::compare(ops::Compare::lt, a, b));
      }
    }
  }
}
