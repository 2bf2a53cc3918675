// SPDX-License-Identifier: MIT
// Products of f32 that the kernel for whole pieces takes: every sum has the bits of fused
// multiply-adds in the order of k, at edges of tiles and for all layouts.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "hiptool/matmul.hpp"
#include "unit/ops/check_operation.hpp"

using namespace hiptool;

namespace {

struct Product {
  std::uint64_t batch, m, k, n;
  double alpha = 1;
  double beta = 0;
  std::uint64_t chunk = ~std::uint64_t{0};  ///< of k, whose sums are joined in their order
};

/// Not all of them whole, so that another order of a sum rounds differently.
std::vector<float> numbers(std::uint64_t count, std::uint32_t state) {
  std::vector<float> values;
  for (std::uint64_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    values.push_back(static_cast<float>(static_cast<int>(state >> 8 & 0xFFFF) - 32768) / 3000);
  }
  return values;
}

std::vector<float> turned(const std::vector<float>& matrices, std::uint64_t rows,
                          std::uint64_t columns) {
  std::vector<float> result(matrices.size());
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    const std::size_t inside = i % (rows * columns);
    result[i - inside + inside % columns * rows + inside / columns] = matrices[i];
  }
  return result;
}

/// Packed, with rows or columns as neighbours.
Tensor put(const TensorMemory& memory, const std::vector<float>& values, std::uint64_t batch,
           std::uint64_t rows, std::uint64_t columns, bool is_turned) {
  if (!is_turned) return Tensor::from_host(memory, values, {batch, rows, columns});
  const Tensor tensor =
      Tensor::from_host(memory, turned(values, rows, columns), {batch, columns, rows});
  return tensor.with_layout(tensor.layout().transpose(1, 2));
}

float expected_sum(const Product& one, const float* row, const float* column) {
  float sum = 0;
  for (std::uint64_t first = 0; first < one.k; first += std::min(one.chunk, one.k)) {
    float part = 0;
    for (std::uint64_t k = first; k < one.k && k - first < one.chunk; ++k) {
      part = std::fma(row[k], column[k * one.n], part);
    }
    sum = first == 0 ? part : sum + part;
  }
  return sum;
}

std::vector<float> expected_product(const Product& one, const std::vector<float>& a,
                                    const std::vector<float>& b, const std::vector<float>& old) {
  std::vector<float> results;
  for (std::uint64_t i = 0; i < one.batch * one.m * one.n; ++i) {
    const std::uint64_t row = i / one.n;  // of all matrices
    const float* const of_b = b.data() + row / one.m * one.k * one.n + i % one.n;
    const float sum = expected_sum(one, a.data() + row * one.k, of_b);
    const float scaled = static_cast<float>(one.alpha) * sum;
    results.push_back(one.beta == 0 ? scaled
                                    : std::fma(static_cast<float>(one.beta), old[i], scaled));
  }
  return results;
}

}  // namespace

TEST_CASE("products of whole pieces have the bits of sums in the order of k") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const TensorMemory memory(backend.allocator(), backend.stream());
  // One step and several; both edges inside a tile; more tiles than one; batches; sums in chunks.
  for (const Product& one :
       {Product{1, 128, 8, 128}, Product{1, 132, 48, 68, 0.5, -0.75}, Product{2, 260, 32, 196},
        Product{3, 140, 64, 72, 2}, Product{1, 196, 2064, 72, 1, 0, 1152}}) {
    CAPTURE(one.m);
    CAPTURE(one.n);
    const std::vector<float> a = numbers(one.batch * one.m * one.k, 1);
    const std::vector<float> b = numbers(one.batch * one.k * one.n, 2);
    const std::vector<float> old = numbers(one.batch * one.m * one.n, 3);
    const std::vector<float> expected = expected_product(one, a, b, old);
    for (const unsigned layouts : {0u, 1u, 2u, 3u}) {
      CAPTURE(layouts);
      const bool a_turned = layouts % 2 != 0;
      const bool b_turned = layouts / 2 != 0;
      const Tensor x = put(memory, a, one.batch, one.m, one.k, a_turned);
      const Tensor y = put(memory, b, one.batch, one.k, one.n, b_turned);
      Tensor out = put(memory, old, one.batch, one.m, one.n, false);
      ops::matmul_into(backend, out, x, y, {.alpha = one.alpha, .beta = one.beta});
      const std::vector<float> found = out.to_host<float>(backend.stream());
      REQUIRE(found.size() == expected.size());
      CHECK(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)) == 0);
    }
  }
}
