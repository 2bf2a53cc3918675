// SPDX-License-Identifier: MIT
#include "ops/reference/elementwise.hpp"

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
          const Tensor out = test::place(backend, dtype, dims, placement);
          ops::binary_into(backend, operation, x, y, out);
          test::check_result(dtype, test::read(backend, out),
                             ops::reference::binary(operation, dtype, a, b));
          const auto comparison = static_cast<ops::Compare>(i);
          const Tensor truth = ops::compare(backend, comparison, x, y);
          backend.synchronize();
          const auto flags = truth.to_host<std::uint8_t>(backend.stream());
          test::check_result(DType::u8, std::as_bytes(std::span(flags)),
                             ops::reference::compare(comparison, a, b));
        }
      }
    }
  }
}
