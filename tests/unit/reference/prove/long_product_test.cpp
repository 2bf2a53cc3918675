// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hiptool/ops_model.hpp"
#include "reference/prove/bounded.hpp"
#include "reference/prove/values.hpp"
#include "support.hpp"
#include "unit/reference/prove/prove_samples.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

constexpr std::size_t weight_rows = 3;
constexpr std::size_t vector_count = 8;
constexpr std::size_t block_bytes = 20;  // of Q4_1: scale, least value, 32 numbers of 4 bits

/// Numbers from 0 to 1 that are the same everywhere.
class Numbers {
 public:
  double next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state_ >> 40) * 0x1p-24;
  }

 private:
  std::uint64_t state_ = 7;
};

/// Weights of mean 0 as Q4_1: numbers n of 0 to 15 times a scale, less 7.5 scales.
std::vector<std::byte> q4_1_rows(std::size_t columns, Numbers& numbers) {
  std::vector<std::byte> bytes(weight_rows * columns / 32 * block_bytes);
  const auto put_half = [&](std::size_t at, unsigned bits) {
    bytes[at] = static_cast<std::byte>(bits & 0xFF);
    bytes[at + 1] = static_cast<std::byte>(bits >> 8);
  };
  for (std::size_t at = 0; at < bytes.size(); at += block_bytes) {
    // 2^-6 (1 + m / 1024), and -7.5 times 2^-6, times 1 + a part of m.
    const auto mantissa = static_cast<unsigned>(numbers.next() * 1024);
    put_half(at, 0x2400 | mantissa);
    put_half(at + 2, 0xAF80 + mantissa / 16);
    for (std::size_t i = 4; i < block_bytes; ++i) {
      bytes[at + i] = static_cast<std::byte>(numbers.next() * 256);
    }
  }
  return bytes;
}

/// Products in float64, and the bound of each.
reference::Bounded products(ElementType type, std::span<const std::byte> blocks,
                            std::span<const float> x, std::size_t columns) {
  std::vector<double> weights(weight_rows * columns);
  reference::to_doubles(type, blocks, weights);
  reference::Bounded all;
  for (std::size_t token = 0; token < vector_count; ++token) {
    for (std::size_t row = 0; row < weight_rows; ++row) {
      double sum = 0;
      double squares = 0;
      for (std::size_t i = 0; i < columns; ++i) {
        const double term = weights[row * columns + i] * x[token * columns + i];
        sum += term;
        squares += term * term;
      }
      all.values.push_back(sum);
      all.bounds.push_back(reference::sum_bound(columns, std::sqrt(squares), sum));
    }
  }
  return all;
}

}  // namespace

TEST_CASE("prove: low bits of one scale, in products of many columns") {
  const ProvedSample sample(ModelFormat::gguf, {"llama"}, {"Q4_1"});
  const Backend& backend = sample.backend;
  const ElementType type = sample.model.find(sample.spec.layers[0].q.weight)->type;
  REQUIRE(type.name() == "Q4_1");
  Numbers numbers;
  struct Fault {
    std::size_t columns;
    unsigned bit;
  };
  // Of 28672 columns the lowest bit is below the bound (docs/loading.md).
  for (const Fault& fault : {Fault{4096, 0}, Fault{14336, 0}, Fault{28672, 1}}) {
    const std::size_t columns = fault.columns;
    CAPTURE(columns);
    std::vector<std::byte> blocks = q4_1_rows(columns, numbers);
    std::vector<float> x(vector_count * columns);
    for (float& one : x) one = static_cast<float>(numbers.next() + numbers.next() - 1);
    const reference::Bounded expected = products(type, blocks, x, columns);
    // How far from float64 each of the device's products is, as a share of its bound.
    const auto device_shares = [&] {
      Buffer memory(backend.device(), blocks.size());
      copy_h2d_and_wait(memory, blocks);
      const ops::QuantisedTensor weights(memory, type, weight_rows, columns);
      const std::array<std::uint64_t, 2> dims{vector_count, columns};
      const Tensor inputs = Tensor::from_host<float>({backend.allocator(), backend.stream()},
                                                     std::span<const float>(x), dims);
      const std::vector<float> found =
          ops::quantised_matmul(backend, weights, inputs).to_host<float>(backend.stream());
      std::vector<double> highest(weight_rows);
      for (std::size_t i = 0; i < found.size(); ++i) {
        const double share = std::abs(found[i] - expected.values[i]) / expected.bounds[i];
        highest[i % weight_rows] = std::max(highest[i % weight_rows], share);
      }
      return highest;
    };
    for (const double share : device_shares()) CHECK(share < 0.5);
    const std::size_t row_bytes = columns / 32 * block_bytes;
    blocks[row_bytes + 5 * block_bytes] ^= static_cast<std::byte>(1u << fault.bit);
    const std::vector<double> faulty = device_shares();
    CHECK(faulty[0] < 0.5);
    CHECK(faulty[1] > 1);
    CHECK(faulty[2] < 0.5);
  }
}
