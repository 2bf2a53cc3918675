// SPDX-License-Identifier: MIT
/// A norm in front of products of one token, which the kernels of an NVIDIA GPU compute themselves.
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "hiptool/error.hpp"
#include "hiptool/ops_model.hpp"
#include "hiptool/ops_rows.hpp"
#include "ops/backend_state.hpp"
#include "ops/quantised.hpp"
#include "unit/ops/check_operation.hpp"

using namespace hiptool;
using ops::QuantisedTensor;
using test::random_tensor;

namespace {

using Dims = std::vector<std::uint64_t>;

constexpr double epsilon = 1e-5;

QuantisedTensor random_matrix(const Backend& backend, DType dtype, const Dims& dims,
                              std::uint32_t seed) {
  return QuantisedTensor(ops::cast(backend, random_tensor(backend, dims, seed), dtype));
}

std::vector<Tensor> outputs_of(const Backend& backend, const std::vector<QuantisedTensor>& matrices,
                               std::uint64_t tokens) {
  std::vector<Tensor> outs;
  for (const QuantisedTensor& one : matrices) {
    outs.push_back(backend.zeros(DType::f32, {tokens, one.rows()}));
  }
  return outs;
}

std::vector<ops::WeightsProduct> products_of(const std::vector<QuantisedTensor>& matrices,
                                             std::vector<Tensor>& outs) {
  std::vector<ops::WeightsProduct> products;
  for (std::size_t i = 0; i < outs.size(); ++i) products.push_back({&matrices[i], &outs[i]});
  return products;
}

/// Products and a gate of x, whose norm is computed in the kernels or, where `is_inside` is false,
/// by rmsnorm before them; both have the same bits.
void check_norm(const Backend& backend, const std::vector<QuantisedTensor>& matrices,
                const Tensor& x, const Tensor& weight, bool is_inside) {
  const std::uint64_t tokens = x.dims()[0];
  const Tensor before = ops::rmsnorm(backend, x, weight, epsilon);
  std::vector<Tensor> outs = outputs_of(backend, matrices, tokens);
  const auto products = products_of(matrices, outs);
  const Tensor untouched = backend.zeros(DType::f32, x.dims());
  const ops::ProductInput input(x, {&weight, epsilon, backend.zeros(DType::f32, x.dims())});
  CHECK(ops::can_norm_input(backend, products, x, *input.norm) == is_inside);
  ops::quantised_matmuls_into(backend, products, input);
  CHECK(test::read(backend, input.norm->normed) ==
        test::read(backend, is_inside ? untouched : before));
  for (std::size_t i = 0; i < outs.size(); ++i) {
    CHECK(test::read(backend, outs[i]) ==
          test::read(backend, ops::quantised_matmul(backend, matrices[i], before)));
  }
  std::vector<Tensor> expected = outputs_of(backend, {matrices[0], matrices[0]}, tokens);
  std::vector<Tensor> gated = outputs_of(backend, {matrices[0], matrices[0]}, tokens);
  const auto gate = [&](std::vector<Tensor>& both, const ops::ProductInput& of) {
    ops::gated_quantised_matmul_into(backend, both[0], ops::Gate::silu, matrices[0], matrices[0],
                                     of, both[1]);
  };
  gate(expected, before);
  gate(gated, input);
  CHECK(test::read(backend, gated[0]) == test::read(backend, expected[0]));
}

bool has_norms_inside(const Backend& backend) {
  return backend.device().platform() == Platform::nvidia;
}

}  // namespace

TEST_CASE("token products: a norm in front has the bits of rmsnorm before them") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  // Rows of up to 512 elements have another order of their sum, and of more than 8192 go through
  // shared memory in parts.
  for (const std::uint64_t columns : {16u, 96u, 144u, 208u, 256u, 320u, 400u, 448u, 496u, 512u,
                                      528u, 1024u, 2064u, 8192u, 8208u, 17408u}) {
    CAPTURE(columns);
    const Tensor x = random_tensor(backend, {1, columns}, 1);
    const Tensor weight = random_tensor(backend, {columns}, 2);
    const QuantisedTensor first = random_matrix(backend, DType::f32, {9, columns}, 3);
    const QuantisedTensor second = random_matrix(backend, DType::f32, {2, columns}, 4);
    const QuantisedTensor other = random_matrix(backend, DType::bf16, {10, columns}, 5);
    check_norm(backend, {first, second, first}, x, weight, has_norms_inside(backend));
    check_norm(backend, {other, second, other}, x, weight, has_norms_inside(backend));
  }
}

// Blocks whose rows come through a ring have as many threads as the token leaves memory for.
TEST_CASE("token products: a norm in front of long rows") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const std::uint64_t columns : {4096u, 6144u, 25600u, 41984u}) {
    CAPTURE(columns);
    check_norm(backend, {random_matrix(backend, DType::f16, {67, columns}, 6)},
               random_tensor(backend, {1, columns}, 7), random_tensor(backend, {columns}, 8),
               has_norms_inside(backend));
  }
}

TEST_CASE("token products: a norm in front of more rows than there are blocks at once") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const std::uint64_t rows = 8 * 4 * ops::state_of(backend).multiprocessors + 5;
  for (const std::uint64_t columns : {32u, 8208u}) {
    CAPTURE(columns);
    check_norm(backend, {random_matrix(backend, DType::f16, {rows, columns}, 6)},
               random_tensor(backend, {1, columns}, 7), random_tensor(backend, {columns}, 8),
               has_norms_inside(backend));
  }
}

TEST_CASE("token products: a norm in front takes zeros, infinities and what is no number") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const float none = std::numeric_limits<float>::quiet_NaN();
  for (const float value : {0.0F, -0.0F, infinity, none, 1e30F}) {
    CAPTURE(value);
    for (const std::uint64_t columns : {32u, 1040u}) {
      std::vector<float> values(columns, value == none || value == infinity ? 1.0F : value);
      values.back() = value;
      const Tensor x =
          Tensor::from_host<float>({backend.allocator(), backend.stream()}, values, {1, columns});
      check_norm(backend, {random_matrix(backend, DType::f32, {3, columns}, 9)}, x,
                 random_tensor(backend, {columns}, 10), has_norms_inside(backend));
    }
  }
}

TEST_CASE("token products: a norm that the kernels do not take is one of its own") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  constexpr std::uint64_t columns = 1024;
  const std::vector<QuantisedTensor> matrices{random_matrix(backend, DType::f32, {5, columns}, 1)};
  const Tensor x = random_tensor(backend, {1, columns}, 2);
  const Tensor twice = random_tensor(backend, {2 * columns + 4}, 3);
  const auto part = [&](std::uint64_t stride, std::uint64_t start) {
    return twice.with_layout(Layout::strided(Dims{columns}, Dims{stride}, start));
  };
  check_norm(backend, matrices, x, part(1, 4), has_norms_inside(backend));
  // Weights that are not neighbours, are one for all columns, or begin between two pieces.
  check_norm(backend, matrices, x, part(2, 0), false);
  check_norm(backend, matrices, x, part(0, 4), false);
  check_norm(backend, matrices, x, part(1, 1), false);
  // The same of x; then several tokens, and a row that ends within a piece.
  const auto row_of_twice = [&](std::uint64_t stride, std::uint64_t start) {
    return twice.with_layout(Layout::strided(Dims{1, columns}, Dims{4, stride}, start));
  };
  const Tensor weight = random_tensor(backend, {columns}, 4);
  check_norm(backend, matrices, row_of_twice(2, 0), weight, false);
  check_norm(backend, matrices, row_of_twice(1, 1), weight, false);
  check_norm(backend, matrices, random_tensor(backend, {2, columns}, 5), weight, false);
  check_norm(backend, {random_matrix(backend, DType::f32, {5, 1020}, 6)},
             random_tensor(backend, {1, 1020}, 7), random_tensor(backend, {1020}, 8), false);
}

TEST_CASE("token products: weights of a norm that do not fit are refused") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const std::vector<QuantisedTensor> matrices{random_matrix(backend, DType::f32, {32, 32}, 1)};
  const Tensor x = random_tensor(backend, {1, 32}, 2);
  const auto code = [&](const Tensor& weight, std::vector<Tensor> outs) {
    const auto products = products_of(matrices, outs);
    return test::code_of([&] {
      const ops::InputNorm norm{&weight, epsilon, backend.zeros(DType::f32, {1, 32})};
      ops::quantised_matmuls_into(backend, products, {x, norm});
    });
  };
  const std::vector<Tensor> outs = outputs_of(backend, matrices, 1);
  CHECK(code(random_tensor(backend, {16}, 3), outs) == ErrorCode::invalid_argument);
  CHECK(code(backend.zeros(DType::f16, {32}), outs) == ErrorCode::invalid_argument);
  CHECK(code(outs[0].with_layout(Layout{32}), outs) == ErrorCode::invalid_argument);
}
