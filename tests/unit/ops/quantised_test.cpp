// SPDX-License-Identifier: MIT
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "for_call.hpp"
#include "hiptool/error.hpp"
#include "hiptool/ops_model.hpp"
#include "hiptool/ops_move.hpp"
#include "model/element_types.hpp"
#include "ops/quantised.hpp"
#include "reference/ops/matmul.hpp"
#include "unit/ops/check_operation.hpp"
#include "unit/ops/quantised_support.hpp"
#include "unit/ops/quantised_values.hpp"

using namespace hiptool;
using ops::QuantisedTensor;
using reference::Values;
using test::element_type;
using test::float_bits;
using test::FloatBits;
using test::next_number;
using test::Placement;

namespace {

using Dims = std::vector<std::uint64_t>;

Values transposed(const Values& matrix) {
  const std::size_t rows = matrix.dims[0];
  const std::size_t columns = matrix.dims[1];
  Values turned{{columns, rows}, {}};
  for (std::size_t i = 0; i < columns * rows; ++i) {
    turned.at.push_back(matrix.at[i % rows * columns + i / rows]);
  }
  return turned;
}

QuantisedTensor golden_weights(const Backend& backend, const test::GoldenType& golden) {
  const auto keep_masked = [&](std::uint8_t* block) {
    for (const auto& [offset, keep] : golden.masks) {
      if (keep != 0) block[offset] &= static_cast<std::uint8_t>(keep);
    }
  };
  return test::random_blocks(backend, element_type(golden.name), test::golden_rows,
                             test::golden_columns, model::find_gguf_type(golden.name)->id,
                             keep_masked);
}

std::vector<float> golden_x(std::size_t tokens) {
  std::vector<float> x;
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < tokens * test::golden_columns; ++i) {
    const auto whole = static_cast<int>(next_number(state) % 2001) - 1000;
    x.push_back(static_cast<float>(whole) / 1024);
  }
  return x;
}

Values plain_numbers(DType dtype, const Dims& dims, std::uint32_t seed) {
  Values values{dims, {}};
  std::uint32_t state = seed;
  for (std::uint64_t i = 0; i < dims[0] * dims[1]; ++i) {
    values.at.push_back((static_cast<long double>(next_number(state)) - 32768) / 4096);
  }
  return reference::values_of(dtype, reference::bytes_of(dtype, values), dims);
}

Tensor file_tensor(const Backend& backend, DType dtype, const Values& values, Placement placement) {
  const Tensor tensor = test::place(backend, dtype, values.dims, placement);
  test::write(backend, tensor, values);
  return tensor;
}

}  // namespace

TEST_CASE("rows and products of every quantised type") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const std::vector<float> x = golden_x(1);
  for (const test::GoldenType& golden : test::golden_types) {
    CAPTURE(golden.name);
    const QuantisedTensor weights = golden_weights(backend, golden);
    const FloatBits rows = float_bits(
        backend, ops::embedding_rows(backend, weights, std::vector<std::uint32_t>{0, 1, 2}));
    std::uint64_t digest = 0xCBF29CE484222325u;
    for (const std::uint32_t word : rows) digest = (digest ^ word) * 0x100000001B3u;
    CHECK(digest == golden.digest);

    const auto found =
        ops::quantised_matmul(backend, weights,
                              Tensor::from_host({backend.allocator(), backend.stream()}, x,
                                                {1, test::golden_columns}))
            .to_host<float>(backend.stream());
    constexpr double terms = test::golden_columns;
    for (std::size_t row = 0; row < test::golden_rows; ++row) {
      CAPTURE(row);
      const double slack = (8 * std::sqrt(terms) + terms / 8) * 0x1p-24 * golden.sizes[row];
      CHECK(std::fabs(found[row] - golden.products[row]) <= slack);
    }
  }
}

TEST_CASE("the bits of a token do not depend on the other tokens of a call") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  constexpr std::size_t tokens = 11;
  const Tensor x = Tensor::from_host({backend.allocator(), backend.stream()}, golden_x(tokens),
                                     {tokens, test::golden_columns});
  for (const test::GoldenType& golden : test::golden_types) {
    CAPTURE(golden.name);
    const QuantisedTensor weights = golden_weights(backend, golden);
    const FloatBits at_once = float_bits(backend, ops::quantised_matmul(backend, weights, x));
    FloatBits by_one;
    for (std::uint64_t token = 0; token < tokens; ++token) {
      const Tensor one = x.with_layout(x.layout().narrow(0, token, 1));
      const FloatBits row = float_bits(backend, ops::quantised_matmul(backend, weights, one));
      by_one.insert(by_one.end(), row.begin(), row.end());
    }
    CHECK(at_once == by_one);
  }
}

TEST_CASE("several products at once have the bits of one after the other") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const TensorMemory memory(backend.allocator(), backend.stream());
  const QuantisedTensor other = golden_weights(backend, test::golden_types[0]);
  for (const std::size_t tokens : {std::size_t{1}, std::size_t{3}}) {
    const Tensor x = Tensor::from_host(memory, golden_x(tokens), {tokens, test::golden_columns});
    for (const test::GoldenType& golden : test::golden_types) {
      CAPTURE(golden.name);
      CAPTURE(tokens);
      const QuantisedTensor weights = golden_weights(backend, golden);
      const QuantisedTensor part(weights.blocks(), weights.type(), 1, weights.columns());
      const std::array<const QuantisedTensor*, 3> matrices{&weights, &part,
                                                           tokens == 3 ? &other : &weights};
      std::vector<Tensor> outs;
      for (const QuantisedTensor* one : matrices) {
        outs.push_back(backend.zeros(DType::f32, {tokens, one->rows()}));
      }
      std::vector<ops::WeightsProduct> products;
      for (std::size_t i = 0; i < outs.size(); ++i) products.push_back({matrices[i], &outs[i]});
      ops::quantised_matmuls_into(backend, products, x);
      for (std::size_t i = 0; i < outs.size(); ++i) {
        CHECK(float_bits(backend, outs[i]) ==
              float_bits(backend, ops::quantised_matmul(backend, *matrices[i], x)));
      }
      Tensor sum = Tensor::from_host(memory, std::vector<float>(tokens * weights.rows(), 0.3f),
                                     {tokens, weights.rows()});
      const Tensor expected = ops::add(backend, sum, ops::quantised_matmul(backend, weights, x));
      Tensor scratch = backend.zeros(DType::f32, {tokens, weights.rows()});
      ops::add_quantised_matmul_into(backend, sum, weights, x, scratch);
      CHECK(float_bits(backend, sum) == float_bits(backend, expected));
    }
  }
}

TEST_CASE("a gate behind two products has the bits of one after the other") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const TensorMemory memory(backend.allocator(), backend.stream());
  for (const std::size_t tokens : {std::size_t{1}, std::size_t{2}}) {
    const Tensor x = Tensor::from_host(memory, golden_x(tokens), {tokens, test::golden_columns});
    for (const test::GoldenType& golden : test::golden_types) {
      CAPTURE(golden.name);
      CAPTURE(tokens);
      const QuantisedTensor all = golden_weights(backend, golden);
      const std::uint64_t rows = all.rows() - 1;
      const QuantisedTensor gates(all.blocks(), all.type(), rows, all.columns());
      const std::uint64_t row_bytes =
          all.columns() / all.type().block_elements() * (all.type().block_bits() / 8);
      const bool is_aligned = row_bytes % 16 == 0;
      const Buffer second = all.blocks().view(row_bytes, rows * row_bytes);
      const QuantisedTensor values(is_aligned ? second : all.blocks(), all.type(), rows,
                                   all.columns());
      for (const ops::Gate kind : {ops::Gate::silu, ops::Gate::gelu, ops::Gate::relu}) {
        CAPTURE(static_cast<int>(kind));
        const Tensor expected = ops::gate(backend, kind, ops::quantised_matmul(backend, gates, x),
                                          ops::quantised_matmul(backend, values, x));
        Tensor out = backend.zeros(DType::f32, {tokens, rows});
        Tensor scratch = backend.zeros(DType::f32, {tokens, rows});
        ops::gated_quantised_matmul_into(backend, out, kind, gates, values, x, scratch);
        CHECK(float_bits(backend, out) == float_bits(backend, expected));
      }
    }
  }
}

TEST_CASE("products with plain weights of every shape and layout") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    CAPTURE(to_string(dtype));
    for (const Dims& shape : std::vector<Dims>{
             {1, 1, 1}, {5, 3, 1}, {9, 127, 2}, {17, 512, 8}, {8, 513, 9}, {33, 1100, 1}}) {
      CAPTURE(shape[0]);
      CAPTURE(shape[1]);
      CAPTURE(shape[2]);
      Values numbers = plain_numbers(dtype, {shape[0], shape[1]}, 3);
      const Values x = plain_numbers(DType::f32, {shape[2], shape[1]}, 4);
      const Tensor table = file_tensor(backend, dtype, numbers, Placement::packed);
      const QuantisedTensor weights(table);
      for (const Placement placement : test::placements) {
        CAPTURE(static_cast<int>(placement));
        const Tensor vectors = file_tensor(backend, DType::f32, x, placement);
        Tensor out = test::place(backend, DType::f32, Dims{shape[2], shape[0]}, placement);
        ops::quantised_matmul_into(backend, out, weights, vectors);
        test::check_result(DType::f32, test::read(backend, out),
                           reference::matmul(DType::f32, x, transposed(numbers)));
      }
    }
  }
}

TEST_CASE("rows of plain tables by ids of host and device") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const TensorMemory memory(backend.allocator(), backend.stream());
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    CAPTURE(to_string(dtype));
    for (const std::uint64_t columns : {1u, 7u, 24u}) {
      const Values numbers = plain_numbers(dtype, {5, columns}, 7);
      const QuantisedTensor table(file_tensor(backend, dtype, numbers, Placement::packed));
      const std::vector<std::uint32_t> ids{4, 0, 4, 2};
      std::vector<float> expected;
      for (const std::uint32_t id : ids) {
        for (std::uint64_t k = 0; k < columns; ++k) {
          expected.push_back(static_cast<float>(numbers.at[id * columns + k]));
        }
      }
      CHECK(float_bits(backend, ops::embedding_rows(backend, table, ids)) == float_bits(expected));
      for (const Placement placement : test::placements) {
        const Tensor chosen = test::place(backend, DType::u32, Dims{4}, placement);
        test::write(backend, chosen, {{4}, {4, 0, 4, 2}});
        Tensor out = test::place(backend, DType::f32, Dims{4, columns}, placement);
        ops::embedding_rows_into(backend, out, table, chosen);
        test::read(backend, out);
        CHECK(float_bits(backend, ops::embedding_rows(backend, table, chosen)) ==
              float_bits(expected));
      }
    }
  }
  const QuantisedTensor table(backend.zeros(DType::f32, {5, 8}));
  CHECK_THROWS_WITH_AS(
      ops::embedding_rows(backend, table, std::vector<std::uint32_t>{1, 5}),
      doctest::Contains("id 5 at position 1 is out of range: the table F32[5,8] has 5 rows"),
      Error);
  const Tensor ids = Tensor::from_host(memory, std::vector<std::uint32_t>{4, ~0u, 5}, {3});
  const Tensor rows = ops::embedding_rows(backend, table, ids);
  CHECK_THROWS_WITH_AS(backend.synchronize(),
                       doctest::Contains("id 5 at position [2] of u32[3] is out of range"), Error);
  CHECK(rows.to_host<float>(backend.stream()) == std::vector<float>(24, 0.0f));
  const Tensor sentinel = Tensor::from_host(memory, std::vector<std::uint32_t>{~0u}, {1});
  static_cast<void>(ops::embedding_rows(backend, table, sentinel));
  backend.synchronize();
}

TEST_CASE("edges of products with weights of files") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const TensorMemory memory(backend.allocator(), backend.stream());
  const Tensor table = Tensor::from_host(memory, std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  const QuantisedTensor weights(table);
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::from_host(memory, std::vector<float>{infinity, 0, -infinity}, {1, 3});
  CHECK(float_bits(backend, ops::quantised_matmul(backend, weights, x)) ==
        FloatBits{0x7FC00000u, 0x7FC00000u});
  // Nothing is read behind a row, so that NaN there changes nothing.
  const Tensor spread = file_tensor(backend, DType::f32, {{1, 3}, {1, 1, 1}}, Placement::spread);
  CHECK(ops::quantised_matmul(backend, weights, spread).to_host<float>(backend.stream()) ==
        std::vector<float>{6, 15});
  const QuantisedTensor empty(backend.empty(DType::f32, {2, 0}));
  CHECK(ops::quantised_matmul(backend, empty, backend.empty(DType::f32, {1, 0}))
            .to_host<float>(backend.stream()) == std::vector<float>{0, 0});
  CHECK(
      ops::quantised_matmul(backend, weights, backend.empty(DType::f32, {0, 3})).element_count() ==
      0);
}

TEST_CASE("weights of files that cannot be used are refused") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const Buffer buffer(backend.device(), 18 * 64);
  const ElementType q4_0 = element_type("Q4_0");
  CHECK_THROWS_WITH_AS(QuantisedTensor(buffer, element_type("I8"), 2, 32),
                       doctest::Contains("no kernels for weights of type 'I8'"), Error);
  CHECK_THROWS_WITH_AS(QuantisedTensor(buffer, q4_0, 2, 48),
                       doctest::Contains("48 columns are not whole blocks of Q4_0"), Error);
  CHECK_THROWS_WITH_AS(QuantisedTensor(buffer, q4_0, 33, 64),
                       doctest::Contains("Q4_0[33,64] takes 1188 bytes, and the buffer has 1152"),
                       Error);
  CHECK_THROWS_WITH_AS(QuantisedTensor(buffer.view(18, 18), q4_0, 1, 32),
                       doctest::Contains("multiple of 16 bytes"), Error);
  CHECK_THROWS_AS(QuantisedTensor(buffer, q4_0, ~std::uint64_t{0}, 64), Error);
  CHECK_THROWS_WITH_AS(QuantisedTensor(buffer, q4_0, 0, (std::uint64_t{1} << 35) + 32),
                       doctest::Contains("columns are more than the kernels take"), Error);
  CHECK_THROWS_AS(QuantisedTensor(Buffer(), q4_0, 0, 32), Error);
  CHECK_THROWS_AS(QuantisedTensor(backend.empty(DType::u8, {2, 3})), Error);
  const Tensor table = backend.empty(DType::f32, {4, 6});
  CHECK_THROWS_AS(QuantisedTensor(table.with_layout(table.layout().transpose(0, 1))), Error);
  const QuantisedTensor weights(table);
  CHECK_THROWS_WITH_AS(ops::quantised_matmul(backend, weights, backend.empty(DType::f32, {1, 4})),
                       doctest::Contains("f32[1,4] does not fit the weights F32[4,6]"), Error);
  CHECK_THROWS_AS(ops::quantised_matmul(backend, weights, backend.empty(DType::f16, {1, 6})),
                  Error);
  CHECK_THROWS_WITH_AS(
      ops::quantised_matmul_into(backend, test::for_call(table.with_layout(Layout({1, 4}))),
                                 weights, backend.empty(DType::f32, {1, 6})),
      doctest::Contains("overlaps the weights"), Error);
}
