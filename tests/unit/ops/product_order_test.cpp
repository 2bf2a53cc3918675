// SPDX-License-Identifier: MIT
// The bits of products with the matrices of model files, by the order that
// kernels/include/hiptool_file_rows.h states, computed from the bytes of the weights.
#include <array>
#include <cmath>
#include <vector>

#include "hiptool/ops_model.hpp"
#include "unit/ops/block_pieces.hpp"
#include "unit/ops/check_operation.hpp"
#include "unit/ops/quantised_support.hpp"

using namespace hiptool;
using ops::QuantisedTensor;
using test::element_type;
using test::float_bits;
using test::next_number;
using test::PackedType;
using test::Piece;
using test::piece_size;

namespace {

float sum_of(const float* x) {
  std::array<float, 4> fours;
  for (std::size_t i = 0; i < 4; ++i) {
    fours[i] = (x[4 * i] + x[4 * i + 1]) + (x[4 * i + 2] + x[4 * i + 3]);
  }
  return (fours[0] + fours[2]) + (fours[1] + fours[3]);
}

float ordered_product(const std::vector<Piece>& pieces, const float* x) {
  std::array<float, 64> lanes{};
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const Piece& piece = pieces[p];
    const float* const own = x + p * piece_size;
    float& lane = lanes[p % 64];
    float sum = piece.has_step ? 0 : lane;
    for (std::size_t k = 0; k < piece_size; ++k) sum = std::fma(piece.numbers[k], own[k], sum);
    lane = piece.has_step ? std::fma(piece.step, sum, lane) : sum;
    if (piece.has_minimum) lane = std::fma(-piece.minimum, sum_of(own), lane);
  }
  for (std::size_t apart = 32; apart > 0; apart /= 2) {
    for (std::size_t i = 0; i < apart; ++i) lanes[i] += lanes[i + apart];
  }
  return lanes[0];
}

/// Of as many bits as f32 has: sums of products with small whole numbers are then rounded.
std::vector<float> random_numbers(std::size_t count, std::uint32_t seed) {
  std::vector<float> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    numbers.push_back((static_cast<float>(next_number(seed)) - 32768) * 0x1.6A09E6p-12F);
  }
  return numbers;
}

}  // namespace

TEST_CASE("the order of a plain product's sum is the one that is stated") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const TensorMemory memory(backend.allocator(), backend.stream());
  for (const std::uint64_t columns : {1u, 130u, 511u, 1024u, 1040u, 2048u, 3088u, 4096u}) {
    CAPTURE(columns);
    constexpr std::size_t rows = 6;
    const std::vector<float> weights = random_numbers(rows * columns, 5);
    const QuantisedTensor table(Tensor::from_host(memory, weights, {rows, columns}));
    for (const std::uint64_t tokens : {1u, 3u}) {
      const std::vector<float> x = random_numbers(tokens * columns, 6);
      std::vector<float> expected;
      for (std::size_t result = 0; result < tokens * rows; ++result) {
        std::vector<Piece> pieces((columns + piece_size - 1) / piece_size);
        std::vector<float> vector(pieces.size() * piece_size);
        for (std::size_t k = 0; k < columns; ++k) {
          pieces[k / piece_size].numbers[k % piece_size] = weights[result % rows * columns + k];
          vector[k] = x[result / rows * columns + k];
        }
        expected.push_back(ordered_product(pieces, vector.data()));
      }
      const Tensor vectors = Tensor::from_host(memory, x, {tokens, columns});
      CHECK(float_bits(backend, ops::quantised_matmul(backend, table, vectors)) ==
            float_bits(expected));
    }
  }
}

TEST_CASE("the order of a quantised product's sum is the one that is stated") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const TensorMemory memory(backend.allocator(), backend.stream());
  constexpr std::size_t rows = 6;
  for (const PackedType& type : test::packed_types()) {
    CAPTURE(type.name);
    for (const std::uint64_t columns : {256u, 1280u, 4352u}) {
      CAPTURE(columns);
      std::vector<Piece> pieces;
      const auto add_block = [&](std::uint8_t* block) {
        for (const int at : type.scale_bytes) {
          block[at] = static_cast<std::uint8_t>((block[at] & type.kept_bits) | type.set_bits);
        }
        type.add(block, pieces);
      };
      const QuantisedTensor weights =
          test::random_blocks(backend, element_type(type.name), rows, columns, 3, add_block);
      const std::size_t row_pieces = columns / piece_size;
      for (const std::uint64_t tokens : {1u, 3u}) {
        const std::vector<float> x = random_numbers(tokens * columns, 6);
        std::vector<float> expected;
        for (std::size_t result = 0; result < tokens * rows; ++result) {
          const auto first = pieces.begin() + static_cast<long>(result % rows * row_pieces);
          expected.push_back(ordered_product({first, first + static_cast<long>(row_pieces)},
                                             x.data() + result / rows * columns));
        }
        const Tensor vectors = Tensor::from_host(memory, x, {tokens, columns});
        CHECK(float_bits(backend, ops::quantised_matmul(backend, weights, vectors)) ==
              float_bits(expected));
      }
    }
  }
}
