// SPDX-License-Identifier: MIT
#include "reference/ops/rows.hpp"

#include <cmath>
#include <limits>

#include "hiptool/error.hpp"
#include "unit/ops/check_operation.hpp"

using namespace hiptool;
using reference::Values;
using test::Placement;

namespace {

using Dims = std::vector<std::uint64_t>;

constexpr std::array real_dtypes{DType::f16, DType::bf16, DType::f32, DType::f64};

/// Numbers of that type from low to high.
Values reals(DType dtype, const Dims& dims, std::uint32_t seed, long double low, long double high) {
  Values values{dims, {}};
  std::mt19937 random(seed);
  std::uint64_t count = 1;
  for (const std::uint64_t dim : dims) count *= dim;
  for (std::uint64_t i = 0; i < count; ++i) {
    values.at.push_back(low + (high - low) * 0x1p-32L * random());
  }
  return reference::values_of(dtype, reference::bytes_of(dtype, values), dims);
}

Tensor row_tensor(const Backend& backend, DType dtype, const Values& values,
                  Placement placement = Placement::packed) {
  const Tensor tensor = test::place(backend, dtype, values.dims, placement);
  test::write(backend, tensor, values);
  return tensor;
}

void check_softmax(const Backend& backend, DType dtype, const Values& values, Placement placement,
                   std::size_t axis) {
  Tensor x = row_tensor(backend, dtype, values, placement);
  Tensor out = test::place(backend, dtype, values.dims, placement);
  ops::softmax_into(backend, out, x, axis);
  test::check_result(dtype, test::read(backend, out),
                     reference::softmax(dtype, values, axis, false));
  ops::log_softmax_into(backend, x, x, axis);
  test::check_result(dtype, test::read(backend, x), reference::softmax(dtype, values, axis, true));
}

void check_norms(const Backend& backend, DType dtype, const Values& values, Placement placement) {
  const Dims width{values.dims.back()};
  const Values weight = reals(dtype, width, 8, -2, 2);
  const Values bias = reals(dtype, width, 9, -1, 1);
  Tensor x = row_tensor(backend, dtype, values, placement);
  const Tensor scale = row_tensor(backend, dtype, weight, placement);
  const Tensor shift = row_tensor(backend, dtype, bias);
  Tensor out = test::place(backend, dtype, values.dims, placement);
  ops::layernorm_into(backend, out, x, scale, shift, 1e-5);
  test::check_result(dtype, test::read(backend, out),
                     reference::normalise(dtype, values, weight, &bias, true, 1e-5));
  const Tensor plain = ops::layernorm(backend, x, scale, 1e-5);
  test::check_result(dtype, test::read(backend, plain),
                     reference::normalise(dtype, values, weight, nullptr, true, 1e-5));
  ops::rmsnorm_into(backend, x, x, scale, 1e-5);
  test::check_result(dtype, test::read(backend, x),
                     reference::normalise(dtype, values, weight, nullptr, false, 1e-5));
}

}  // namespace

TEST_CASE("softmax and normalisation of rows of any width, type and layout") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : real_dtypes) {
    CAPTURE(to_string(dtype));
    for (const std::uint64_t width : {1u, 31u, 32u, 33u, 520u}) {
      CAPTURE(width);
      const Dims dims{width > 100 ? 2u : 9u, width};
      const Values values = reals(dtype, dims, 11, -6, 6);
      for (const Placement placement : test::placements) {
        CAPTURE(static_cast<int>(placement));
        check_softmax(backend, dtype, values, placement, 1);
        check_norms(backend, dtype, values, placement);
      }
    }
    const Values cube = reals(dtype, {3, 5, 4}, 12, -20, 20);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      check_softmax(backend, dtype, cube, Placement::transposed, axis);
    }
    if (dtype == DType::bf16) continue;
    const Values wide = reals(dtype, {1, 20000}, 13, -3, 3);
    check_softmax(backend, dtype, wide, Placement::packed, 1);
    check_norms(backend, dtype, wide, Placement::packed);
  }
}

TEST_CASE("edges of softmax and normalisation") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const float inf = INFINITY;
  const Tensor x =
      Tensor::from_host({backend.allocator(), backend.stream()},
                        std::vector<float>{-inf, -inf, -inf, 0, -inf, 0, 1, std::nanf(""), 2, inf,
                                           0, 1, 1e30f, -1e30f, 1e30f},
                        {5, 3});
  const auto found = ops::softmax(backend, x).to_host<float>(backend.stream());
  for (const int i : {0, 1, 2, 6, 7, 8, 9, 10, 11}) {
    CAPTURE(i);
    CHECK(std::isnan(found[static_cast<std::size_t>(i)]));
  }
  CHECK(found[3] == 0.5f);
  CHECK(found[4] == 0.0f);
  CHECK(found[12] == 0.5f);

  SUBCASE("a large mean costs no digits") {
    for (const DType dtype : {DType::f32, DType::f64}) {
      check_norms(backend, dtype, reals(dtype, {2, 4096}, 14, 1e4L - 1, 1e4L + 1),
                  Placement::packed);
    }
  }
  SUBCASE("errors name types and shapes") {
    const Tensor bytes = backend.empty(DType::u8, {3, 4});
    const Tensor rows = backend.empty(DType::f16, {3, 4});
    const Tensor weight = backend.empty(DType::f16, {3});
    CHECK_THROWS_WITH_AS(ops::softmax(backend, bytes), doctest::Contains("softmax: u8[3,4]"),
                         Error);
    CHECK_THROWS_AS(ops::softmax(backend, rows, 2), Error);
    CHECK_THROWS_AS(ops::softmax(backend, backend.empty(DType::f32, {})), Error);
    CHECK_THROWS_WITH_AS(ops::rmsnorm(backend, rows, weight, 1e-5),
                         doctest::Contains("weights f16[3] do not fit"), Error);
    CHECK_THROWS_AS(ops::layernorm(backend, x, weight, 1e-5), Error);
    CHECK(ops::softmax(backend, backend.empty(DType::f32, {0, 3})).element_count() == 0);
  }
}

TEST_CASE("heads are normalised one by one, whatever other tokens a call has") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const Values heads = reals(DType::f32, {5, 3, 40}, 24, -2, 2);
  const Values weight = reals(DType::f32, {40}, 25, -2, 2);
  const Tensor x = row_tensor(backend, DType::f32, heads);
  const Tensor scale = row_tensor(backend, DType::f32, weight);
  // Epsilons of models, and one that outweighs the squares.
  for (const double epsilon : {1e-6, 1e-5, 4.0}) {
    const Tensor out = ops::rmsnorm(backend, x, scale, epsilon);
    const auto bytes = test::read(backend, out);
    test::check_result(DType::f32, bytes,
                       reference::normalise(DType::f32, heads, weight, nullptr, false, epsilon));
    std::vector<std::byte> by_token;
    for (std::uint64_t token = 0; token < 5; ++token) {
      const Tensor one = x.with_layout(x.layout().narrow(0, token, 1));
      const auto part = test::read(backend, ops::rmsnorm(backend, one, scale, epsilon));
      by_token.insert(by_token.end(), part.begin(), part.end());
    }
    CHECK(test::read(backend, ops::rmsnorm(backend, x, scale, epsilon)) == by_token);
  }
}

TEST_CASE("a single row is normalised to the bits that it has among others") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const auto numbers = [&](const Tensor& tensor) {
    return tensor.to_host<float>(backend.stream());
  };
  for (const std::uint64_t width : {516u, 1024u, 1028u, 4096u, 8188u, 8192u, 8196u}) {
    CAPTURE(width);
    const Tensor x = row_tensor(backend, DType::f32, reals(DType::f32, {2, width}, 31, -3, 3));
    const Tensor weight = row_tensor(backend, DType::f32, reals(DType::f32, {width}, 32, -2, 2));
    const Tensor both = ops::rmsnorm(backend, x, weight, 1e-5);
    for (const std::uint64_t row : {0u, 1u}) {
      Tensor one = x.with_layout(x.layout().narrow(0, row, 1));
      const auto expected = numbers(both.with_layout(both.layout().narrow(0, row, 1)));
      CHECK(numbers(ops::rmsnorm(backend, one, weight, 1e-5)) == expected);
      ops::rmsnorm_into(backend, one, one, weight, 1e-5);
      CHECK(numbers(one) == expected);
    }
  }
}

// Blocks take several rows by turns: of a GPU with 132 multiprocessors some blocks take three.
TEST_CASE("packed rows of halves are normalised to the bits of rows of other layouts") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const auto infinity = std::numeric_limits<long double>::infinity();
  for (const DType dtype : {DType::f16, DType::bf16}) {
    for (const std::uint64_t width : {520u, 2056u, 4096u, 4104u, 8192u}) {
      CAPTURE(width);
      const std::uint64_t rows = width == 520 ? 1100 : 37;
      Values values = reals(dtype, {rows, width}, 33, -3, 5);
      values.at[5 * width + 17] = std::nanl("");
      values.at[6 * width] = infinity;
      for (std::uint64_t i = 0; i < width; ++i) values.at[7 * width + i] = 2;
      Values weights = reals(dtype, {width}, 34, -2, 2);
      weights.at[3] = infinity;
      weights.at[width - 1] = std::nanl("");
      const Tensor bias = row_tensor(backend, dtype, reals(dtype, {width}, 35, -1, 1));
      const Tensor weight = row_tensor(backend, dtype, weights);
      const Tensor x = row_tensor(backend, dtype, values);
      const Tensor apart = row_tensor(backend, dtype, values, Placement::spread);
      const auto same = [&](const Tensor& packed, const Tensor& other) {
        CHECK((test::read(backend, packed) == test::read(backend, other)));
      };
      same(ops::rmsnorm(backend, x, weight, 1e-5), ops::rmsnorm(backend, apart, weight, 1e-5));
      same(ops::layernorm(backend, x, weight, 1e-5), ops::layernorm(backend, apart, weight, 1e-5));
      const Tensor expected = ops::layernorm(backend, apart, weight, bias, 1e-5);
      same(ops::layernorm(backend, x, weight, bias, 1e-5), expected);
      Tensor in_place = x;
      ops::layernorm_into(backend, in_place, x, weight, bias, 1e-5);
      same(in_place, expected);
    }
  }
}

TEST_CASE("a gate and its factor may be halves of one product") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const Values both = reals(DType::f32, {3, 20}, 26, -4, 4);
  const Tensor product = row_tensor(backend, DType::f32, both);
  Values halves[2] = {{{3, 10}, {}}, {{3, 10}, {}}};
  for (std::size_t i = 0; i < 60; ++i) halves[i % 20 / 10].at.push_back(both.at[i]);
  const Tensor out =
      ops::gate(backend, ops::Gate::silu, product.with_layout(product.layout().narrow(1, 0, 10)),
                product.with_layout(product.layout().narrow(1, 10, 10)));
  test::check_result(DType::f32, test::read(backend, out),
                     reference::gate(DType::f32, ops::Gate::silu, halves[0], halves[1]));
}

TEST_CASE("rope of both kinds of pairs, whole and partial") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : real_dtypes) {
    CAPTURE(to_string(dtype));
    for (const auto& shape : std::vector<std::pair<Dims, std::uint64_t>>{
             {{2, 3, 5, 32}, 16}, {{3, 2, 32}, 8}, {{3, 2, 11}, 5}, {{2, 1, 4}, 1}}) {
      const Dims& dims = shape.first;
      const std::uint64_t pairs = shape.second;  // not a binding, which clang captures nowhere
      CAPTURE(pairs);
      const std::uint64_t tokens = dims[dims.size() - 3];
      const Values values = reals(dtype, dims, 15, -8, 8);
      const Values cosine = reals(DType::f32, {tokens, pairs}, 16, -1, 1);
      const Values sine = reals(DType::f32, {tokens, pairs}, 17, -1, 1);
      for (const Placement placement : test::placements) {
        CAPTURE(static_cast<int>(placement));
        const Tensor x = row_tensor(backend, dtype, values, placement);
        const Tensor cosines = row_tensor(backend, DType::f32, cosine, placement);
        const Tensor sines = row_tensor(backend, DType::f32, sine);
        for (const auto kind : {RopePairs::neighbours, RopePairs::halves}) {
          const auto expected = reference::rope(dtype, values, cosine, sine, kind);
          Tensor out = test::place(backend, dtype, dims, placement);
          ops::rope_into(backend, out, x, cosines, sines, kind);
          test::check_result(dtype, test::read(backend, out), expected);
          Tensor same = row_tensor(backend, dtype, values, placement);
          ops::rope_into(backend, same, same, cosines, sines, kind);
          test::check_result(dtype, test::read(backend, same), expected);
        }
      }
    }
  }
  const Tensor x = backend.empty(DType::f16, {3, 2, 8});
  const Tensor table = backend.empty(DType::f32, {3, 5});
  CHECK_THROWS_WITH_AS(ops::rope(backend, x, table, table, RopePairs::halves),
                       doctest::Contains("rope: tables f32[3,5] do not fit f16[3,2,8]"), Error);
}

TEST_CASE("gated activations of every kind, type and layout") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : real_dtypes) {
    CAPTURE(to_string(dtype));
    for (const Dims& dims : std::vector<Dims>{{}, {7}, {4, 24}, {3, 2, 13}}) {
      const Values gates = reals(dtype, dims, 18, -9, 9);
      const Values up = reals(dtype, dims, 19, -4, 4);
      for (const Placement placement : test::placements) {
        CAPTURE(static_cast<int>(placement));
        const Tensor x = row_tensor(backend, dtype, gates, placement);
        const Tensor y = row_tensor(backend, dtype, up);
        for (int i = 0; i < 5; ++i) {
          CAPTURE(i);
          const auto kind = static_cast<ops::Gate>(i);
          Tensor out = test::place(backend, dtype, dims, placement);
          ops::gate_into(backend, out, kind, x, y);
          test::check_result(dtype, test::read(backend, out),
                             reference::gate(dtype, kind, gates, up));
        }
      }
    }
  }
}

TEST_CASE("a gate of relu takes -0 for 0, as relu does") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const Values gates{{4}, {-0.0L, 0, -1, 2}};
  const Values up{{4}, {1, 1, 3, -3}};
  for (const DType dtype : real_dtypes) {
    CAPTURE(to_string(dtype));
    const Tensor x = row_tensor(backend, dtype, gates);
    const Tensor out = ops::gate(backend, ops::Gate::relu, x, row_tensor(backend, dtype, up));
    const Values wanted{{4}, {0, 0, 0, -6}};
    CHECK(test::read(backend, out) == reference::bytes_of(dtype, wanted));
  }
}
