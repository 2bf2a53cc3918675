// SPDX-License-Identifier: MIT
#include "hiptool/matmul.hpp"

#include "unit/ops/check_operation.hpp"

using namespace hiptool;
using ops::reference::Values;

TEST_CASE("products of small whole numbers") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const auto& [m, k, n] :
       std::vector<std::array<std::uint64_t, 3>>{{2, 3, 4}, {65, 17, 130}, {5, 40, 1}}) {
    Values a{{m, k}, {}};
    Values b{{k, n}, {}};
    for (std::uint64_t i = 0; i < m * k; ++i) a.at.push_back(i % 17 - 8.0L);
    for (std::uint64_t i = 0; i < k * n; ++i) b.at.push_back(i % 13 - 6.0L);
    for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
      const Tensor x = test::place(backend, dtype, a.dims, test::Placement::packed);
      const Tensor y = test::place(backend, dtype, b.dims, test::Placement::packed);
      test::write(backend, x, a);
      test::write(backend, y, b);
      const Tensor z = ops::matmul(backend, x, y);
      Values c{{m, n}, {}};
      for (std::uint64_t i = 0; i < m; ++i)
        for (std::uint64_t j = 0; j < n; ++j) {
          long double sum = 0;
          for (std::uint64_t d = 0; d < k; ++d) sum += a.at[i * k + d] * b.at[d * n + j];
          c.at.push_back(sum);
        }
      test::check_result(dtype, test::read(backend, z), {c, {}});
    }
  }
}
