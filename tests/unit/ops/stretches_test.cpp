// SPDX-License-Identifier: MIT
// Products of one token with quantised weights, which have a kernel of their own, have the bits of
// the kernel for several tokens: over the fake of CUDA, which runs NVIDIA's way on the processor,
// for all shapes on which that way depends.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "hiptool/copy.hpp"
#include "hiptool/ops_experts.hpp"
#include "hiptool/ops_model.hpp"
#include "hiptool/ops_move.hpp"
#include "ops/quantised.hpp"
#include "unit/ops/check_operation.hpp"
#include "unit/ops/quantised_support.hpp"

using namespace hiptool;
using ops::QuantisedTensor;
using test::element_type;
using test::float_bits;
using test::FloatBits;
using test::next_number;

namespace {

/// A type with small scales: the byte of its blocks that holds the upper bits of each one.
struct PackedType {
  std::string_view name;
  int scale;    ///< byte of a block
  int minimum;  ///< the same, or `none`
};
constexpr int none = -1;
constexpr PackedType packed_types[] = {{"Q4_K", 1, 3},     {"Q5_K", 1, 3},     {"Q6_K", 209, none},
                                       {"Q8_0", 1, none},  {"Q4_0", 1, none},  {"Q4_1", 1, 3},
                                       {"Q5_0", 1, none},  {"Q5_1", 1, 3},     {"IQ4_NL", 1, none},
                                       {"MXFP4", 0, none}, {"NVFP4", 0, none}, {"Q3_K", 109, none},
                                       {"F16", 1, none},   {"BF16", 1, none}};

QuantisedTensor random_weights(const Backend& backend, const PackedType& packed, std::uint64_t rows,
                               std::uint64_t columns, std::uint32_t seed) {
  // Finite numbers of either sign and of many sizes.
  const auto make_finite = [&](std::uint8_t* block) {
    for (const int half : {packed.scale, packed.minimum}) {
      if (half != none) block[half] &= 0xBF;
    }
  };
  return test::random_blocks(backend, element_type(packed.name), rows, columns, seed, make_finite);
}

/// Of as many bits as f32 has, at least 2^-12.5 and at most 2^2.5: sums of products with small
/// whole numbers are then rounded.
std::vector<float> random_vectors(std::uint64_t tokens, std::uint64_t columns) {
  std::vector<float> x;
  std::uint32_t state = 7;
  for (std::uint64_t i = 0; i < tokens * columns; ++i) {
    x.push_back((static_cast<float>(next_number(state)) - 32768) * 0x1.6A09E6p-13F);
  }
  return x;
}

struct Inputs {
  Tensor one;
  Tensor several;  ///< the same token and others

  Inputs(const TensorMemory& memory, std::uint64_t columns)
      : one(Tensor::from_host(memory, random_vectors(1, columns), {1, columns})),
        several(Tensor::from_host(memory, random_vectors(2, columns), {2, columns})) {}
};

/// By the kernel for several tokens.
Tensor product_of(const Backend& backend, const QuantisedTensor& weights, const Inputs& x) {
  const Tensor out = ops::quantised_matmul(backend, weights, x.several);
  return ops::copy(backend, out.with_layout(out.layout().narrow(0, 0, 1)));
}

/// In memory that ends with them.
QuantisedTensor first_rows(const Backend& backend, const QuantisedTensor& weights,
                           std::uint64_t rows) {
  const std::size_t size = rows * weights.row_bytes();
  Buffer buffer(backend.device(), size);
  copy_d2d(buffer, weights.blocks().view(0, size), backend.stream());
  return {buffer, weights.type(), rows, weights.columns()};
}

/// Of one block, of some that do not fill all threads of a row, of just these, of more, and of more
/// than shared memory takes at once; where blocks are shorter, their number is odd, too.
std::vector<std::uint64_t> widths_of(std::uint64_t block) {
  return {block, 3 * block, 768, 1024, 1024 + block, 4096, 8192, 8192 + block, 17 * 1024 + block};
}

/// The shortest rows of whole turns whose token leaves no memory for a ring of that many threads.
std::uint64_t width_without_ring(std::uint32_t type, std::uint32_t threads) {
  const hiptool_ops::RingShape ring = hiptool_ops::ring_shape(type);
  std::uint64_t pieces = hiptool_ops::ring_pieces;
  while (hiptool_ops::ring_shared_bytes(ring, pieces, threads) <= hiptool_ops::ring_most_bytes) {
    pieces += hiptool_ops::ring_pieces;
  }
  return pieces * hiptool_ops::dot_piece;
}

}  // namespace

TEST_CASE("a token's products have the bits of those of several tokens at any width") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const TensorMemory memory(backend.allocator(), backend.stream());
  for (const PackedType& packed : packed_types) {
    CAPTURE(packed.name);
    for (const std::uint64_t columns : widths_of(element_type(packed.name).block_elements())) {
      CAPTURE(columns);
      const Inputs x(memory, columns);
      // Whole units of 16 bytes or not, for which some types have kernels of their own.
      for (const std::uint64_t rows : {1u, 37u, 48u}) {
        const QuantisedTensor weights = random_weights(backend, packed, rows, columns, 1);
        const FloatBits expected = float_bits(backend, product_of(backend, weights, x));
        CHECK(float_bits(backend, ops::quantised_matmul(backend, weights, x.one)) == expected);
      }
    }
  }
}

// Of a ring with all threads, with half of them, and without one.
TEST_CASE(
    "a token's products have the bits of those of several tokens around the limits of a ring") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const TensorMemory memory(backend.allocator(), backend.stream());
  constexpr std::uint32_t type = 12;  // ggml's number
  const std::uint64_t half = width_without_ring(type, hiptool_ops::ring_threads);
  const std::uint64_t none = width_without_ring(type, hiptool_ops::layer_threads);
  CHECK(half < none);
  for (const std::uint64_t columns : {half - 256, half, none - 256, none}) {
    CAPTURE(columns);
    const Inputs x(memory, columns);
    const QuantisedTensor weights = random_weights(backend, {"Q4_K", 1, 3}, 37, columns, 1);
    CHECK(float_bits(backend, ops::quantised_matmul(backend, weights, x.one)) ==
          float_bits(backend, product_of(backend, weights, x)));
  }
}

TEST_CASE("products of a token with several matrices, an addend and a gate have the same bits") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const TensorMemory memory(backend.allocator(), backend.stream());
  for (const PackedType& packed : packed_types) {
    CAPTURE(packed.name);
    for (const std::uint64_t columns : {std::uint64_t{1280}, std::uint64_t{8960}}) {
      CAPTURE(columns);
      const Inputs x(memory, columns);
      const std::array<QuantisedTensor, 3> weights{random_weights(backend, packed, 35, columns, 1),
                                                   random_weights(backend, packed, 1, columns, 2),
                                                   random_weights(backend, packed, 65, columns, 3)};
      std::vector<Tensor> outs;
      for (const QuantisedTensor& one : weights) {
        outs.push_back(backend.zeros(DType::f32, {1, one.rows()}));
      }
      std::vector<ops::WeightsProduct> products;
      for (std::size_t i = 0; i < outs.size(); ++i) products.push_back({&weights[i], &outs[i]});
      ops::quantised_matmuls_into(backend, products, x.one);
      for (std::size_t i = 0; i < outs.size(); ++i) {
        CHECK(float_bits(backend, outs[i]) ==
              float_bits(backend, product_of(backend, weights[i], x)));
      }

      Tensor scratch = backend.zeros(DType::f32, {1, 35});
      Tensor sum = Tensor::from_host(memory, test::random_floats(35, 4), {1, 35});
      const Tensor added = ops::add(backend, sum, product_of(backend, weights[0], x));
      ops::add_quantised_matmul_into(backend, sum, weights[0], x.one, scratch);
      CHECK(float_bits(backend, sum) == float_bits(backend, added));

      const QuantisedTensor values = random_weights(backend, packed, 35, columns, 5);
      for (const ops::Gate kind : {ops::Gate::silu, ops::Gate::gelu}) {
        const Tensor gated = ops::gate(backend, kind, product_of(backend, weights[0], x),
                                       product_of(backend, values, x));
        Tensor out = backend.zeros(DType::f32, {1, 35});
        ops::gated_quantised_matmul_into(backend, out, kind, weights[0], values, x.one, scratch);
        CHECK(float_bits(backend, out) == float_bits(backend, gated));
      }
    }
  }
}

/// By all kernels; `whole` begins with the rows of `part`.
void check_part(const Backend& backend, const QuantisedTensor& whole, const QuantisedTensor& part) {
  const TensorMemory memory(backend.allocator(), backend.stream());
  const std::uint64_t columns = whole.columns();
  const std::uint64_t rows = part.rows();
  for (const std::uint64_t tokens : {1u, 3u, 40u}) {
    // Of few rows many tokens are by the kernel for several.
    if (tokens == 40 && rows < 61) continue;
    CAPTURE(tokens);
    const Tensor x = Tensor::from_host(memory, random_vectors(tokens, columns), {tokens, columns});
    const Tensor all = ops::quantised_matmul(backend, whole, x);
    const Tensor expected = ops::copy(backend, all.with_layout(all.layout().narrow(1, 0, rows)));
    CHECK(float_bits(backend, ops::quantised_matmul(backend, part, x)) ==
          float_bits(backend, expected));
    if (tokens > 1) continue;
    Tensor outs[] = {backend.zeros(DType::f32, {1, whole.rows()}),
                     backend.zeros(DType::f32, {1, rows})};
    const std::array<ops::WeightsProduct, 2> both{ops::WeightsProduct{&whole, &outs[0]},
                                                  {&part, &outs[1]}};
    ops::quantised_matmuls_into(backend, both, x);
    CHECK(float_bits(backend, outs[0]) == float_bits(backend, all));
    CHECK(float_bits(backend, outs[1]) == float_bits(backend, expected));

    std::vector<std::uint32_t> ids(rows);
    std::iota(ids.begin(), ids.end(), 0u);
    CHECK(float_bits(backend, ops::embedding_rows(backend, part, ids)) ==
          float_bits(backend, ops::embedding_rows(backend, whole, ids)));
    const ops::ExpertTensors experts(backend, {part}, rows);
    const Tensor slots = Tensor::from_host<std::uint32_t>(memory, ids, {1, rows});
    CHECK(float_bits(backend, ops::expert_matmul(backend, experts, slots, x)) ==
          float_bits(backend, expected));
  }
}

// NVIDIA's kernels load some types by units of 16 bytes where a matrix's last one is all there; the
// fake of CUDA refuses to read behind an allocation.
TEST_CASE("rows that end within a unit have the bits that they have in a whole matrix") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const PackedType& packed : packed_types) {
    const ElementType type = element_type(packed.name);
    if (type.block_bits() / 8 % 16 == 0) continue;
    CAPTURE(packed.name);
    for (const std::uint64_t blocks : {1u, 3u, 33u}) {
      if (blocks * type.block_elements() > 4096) continue;
      CAPTURE(blocks);
      const QuantisedTensor whole =
          random_weights(backend, packed, 64, blocks * type.block_elements(), 3);
      for (const std::uint64_t rows : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 61u}) {
        CAPTURE(rows);
        check_part(backend, whole, first_rows(backend, whole, rows));
      }
    }
  }
}

// Scales that are no numbers, and those of which a part is 0 or of the other sign.
TEST_CASE("a token's products with blocks of any bits have the bits of those of several tokens") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const TensorMemory memory(backend.allocator(), backend.stream());
  constexpr std::uint64_t columns = 2048 + 256;
  const Inputs x(memory, columns);
  for (const PackedType& packed : packed_types) {
    CAPTURE(packed.name);
    const QuantisedTensor weights =
        random_weights(backend, {packed.name, none, none}, 96, columns, 9);
    CHECK(float_bits(backend, ops::quantised_matmul(backend, weights, x.one)) ==
          float_bits(backend, product_of(backend, weights, x)));
  }
}

// NVIDIA's kernels multiply the elements of a token by powers of two for Q4_K and Q5_K, where none
// of them is too large or too small for that.
TEST_CASE("a token's products have the bits of those of several tokens for elements of any size") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const TensorMemory memory(backend.allocator(), backend.stream());
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::string_view name : {"Q4_K", "Q5_K"}) {
    CAPTURE(name);
    for (const std::uint64_t columns : {512u, 8192u + 512u}) {
      CAPTURE(columns);
      const QuantisedTensor weights = random_weights(backend, {name, 1, 3}, 37, columns, 3);
      struct Sizes {
        float all;  ///< of the elements of random_vectors()
        float one;
      };
      constexpr Sizes sizes[] = {{0, 0x1p-81F},
                                 {0, 0x0.FFFFFFp-81F},
                                 {0, 0x0.FFFFFFp-82F},
                                 {0, 0x1p-149F},
                                 {0x1p-68F, 0x1p-81F},
                                 {0x1p-68F, 0x0.FFFFFFp-81F},
                                 {0x1p-69F, 1},
                                 {0x1p-126F, 0x1p-126F},
                                 {0x1p-136F, 0x1p-149F},
                                 {0x1p21F, 0x0.FFFFFFp24F},
                                 {0x1p21F, 0x1p24F},
                                 {1, 0x1p100F},
                                 {1, 0x1p127F},
                                 {1, infinity},
                                 {1, nan}};
      for (const Sizes& size : sizes) {
        CAPTURE(size.all);
        CAPTURE(size.one);
        for (const std::uint64_t place : {std::uint64_t{0}, std::uint64_t{35}, columns - 1}) {
          std::vector<float> x = random_vectors(2, columns);
          for (float& element : x) element *= size.all;
          std::fill_n(x.begin() + 16, 16, -0.0F);
          x[place] = size.one;
          const Tensor two = Tensor::from_host(memory, x, {2, columns});
          const Tensor one = ops::copy(backend, two.with_layout(two.layout().narrow(0, 0, 1)));
          const Tensor both = ops::quantised_matmul(backend, weights, two);
          const Tensor expected =
              ops::copy(backend, both.with_layout(both.layout().narrow(0, 0, 1)));
          CHECK(float_bits(backend, ops::quantised_matmul(backend, weights, one)) ==
                float_bits(backend, expected));
        }
      }
    }
  }
}

/// All weights of a type are this scale times the same number.
struct EqualWeights {
  std::string_view name;
  int scale;  ///< the first byte of the scale, a binary16
  std::uint8_t byte;
};
constexpr EqualWeights equal_weights[] = {
    {"Q8_0", 0, 0xFF}, {"Q8_0", 0, 1}, {"Q6_K", 208, 0x11}, {"Q4_0", 0, 0x11}, {"F16", 0, 0}};

Tensor product_of_equal(const Backend& backend, const EqualWeights& equal, std::uint32_t scale,
                        std::uint64_t tokens, float element) {
  constexpr std::uint64_t columns = 2048;  // some for each lane
  const ElementType type = element_type(equal.name);
  const auto make_equal = [&](std::uint8_t* block) {
    std::fill_n(block, type.block_bits() / 8, equal.byte);
    block[equal.scale] = static_cast<std::uint8_t>(scale);
    block[equal.scale + 1] = static_cast<std::uint8_t>(scale >> 8);
  };
  const QuantisedTensor weights = test::random_blocks(backend, type, 17, columns, 1, make_equal);
  const std::vector<float> elements(tokens * columns, element);
  const TensorMemory memory(backend.allocator(), backend.stream());
  return ops::quantised_matmul(backend, weights,
                               Tensor::from_host(memory, elements, {tokens, columns}));
}

TEST_CASE("a product that is too small has no sign, and one with infinite weights is infinite") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const EqualWeights& equal : equal_weights) {
    CAPTURE(equal.name);
    for (const std::uint64_t tokens : {1u, 2u, 64u}) {
      CAPTURE(tokens);
      for (const std::uint32_t sign : {0u, 0x8000U}) {
        for (const std::uint32_t bits :
             float_bits(backend, product_of_equal(backend, equal, 0x0001 | sign, tokens, 1e-45F))) {
          REQUIRE(bits == 0);
        }
        for (const std::uint32_t bits :
             float_bits(backend, product_of_equal(backend, equal, 0x7C00 | sign, tokens, 1))) {
          REQUIRE((bits & 0x7FFFFFFFU) == 0x7F800000U);
        }
      }
    }
  }
}

// On a GPU whose blocks may have the memory, a kernel of its own; tiles have 128 rows of 64 tokens.
TEST_CASE("products of many tokens have the bits of those of few") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const TensorMemory memory(backend.allocator(), backend.stream());
  struct Shape {
    std::uint64_t tokens, rows, columns;
  };
  for (const PackedType& packed : packed_types) {
    CAPTURE(packed.name);
    const std::uint64_t block = element_type(packed.name).block_elements();
    for (const Shape& shape : {Shape{16, 128, block}, Shape{33, 70, 1024}, Shape{64, 128, 768},
                               Shape{65, 130, 1024 + block}, Shape{40, 52, 2048 + 3 * block}}) {
      CAPTURE(shape.tokens);
      CAPTURE(shape.columns);
      const QuantisedTensor weights = random_weights(backend, packed, shape.rows, shape.columns, 5);
      const Tensor x = Tensor::from_host(memory, random_vectors(shape.tokens, shape.columns),
                                         {shape.tokens, shape.columns});
      const FloatBits all = float_bits(backend, ops::quantised_matmul(backend, weights, x));
      FloatBits few;
      for (std::uint64_t first = 0; first < shape.tokens; first += 8) {
        const std::uint64_t count = std::min<std::uint64_t>(8, shape.tokens - first);
        const Tensor part = x.with_layout(x.layout().narrow(0, first, count));
        const FloatBits bits = float_bits(backend, ops::quantised_matmul(backend, weights, part));
        few.insert(few.end(), bits.begin(), bits.end());
      }
      CHECK(all == few);
    }
  }
}
