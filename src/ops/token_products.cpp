// SPDX-License-Identifier: MIT
#include "ops/token_products.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>

#include "ops/backend_state.hpp"
#include "ops/rows.hpp"

namespace hiptool::ops {
namespace {

/// "q4_k", "apart_q8_0": kernels have the names of types in small letters.
std::string kernel_name_of(const hiptool_ops::FileMatrix& matrix, ElementType type) {
  std::string name(matrix.type >= hiptool_ops::apart ? "apart_" : "");
  for (char letter : type.name()) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    name += letter;
  }
  return name;
}

/// How many tiles of that many rows; each tile of a gate has half of its rows of each matrix.
std::uint64_t tiles_of(std::span<const WeightsProduct> products, std::uint64_t rows,
                       bool is_gated) {
  if (is_gated) return ceil_divide(products.front().weights->rows(), rows / 2);
  std::uint64_t tiles = 0;
  for (const WeightsProduct& one : products) tiles += ceil_divide(one.weights->rows(), rows);
  return tiles;
}

/// NVIDIA's kernels stage the token in shared memory: blocks that are there at the same time do so
/// once for all of their tiles.
LaunchConfig token_launch(const Backend& backend, std::uint64_t tiles,
                          const hiptool_ops::FileMatrix& matrix) {
  const bool is_staged = backend.device().platform() == Platform::nvidia;
  LaunchConfig config;
  config.block.x = hiptool_ops::layer_threads;
  config.shared_bytes = hiptool_ops::token_shared_bytes(
      matrix.type, matrix.columns / hiptool_ops::dot_piece, is_staged);
  const std::uint64_t most =
      is_staged ? hiptool_ops::token_blocks(matrix.type) * state_of(backend).multiprocessors
                : 0x7FFFFFFF;
  config.grid.x = static_cast<std::uint32_t>(std::min(tiles, most));
  return config;
}

/// Rows of a team: half as many where the blocks with most tiles then have fewer rows.
std::uint32_t team_rows(const Backend& backend, std::span<const WeightsProduct> products,
                        const hiptool_ops::FileMatrix& matrix, std::uint64_t rows) {
  const std::uint64_t blocks =
      hiptool_ops::token_blocks(matrix.type) * state_of(backend).multiprocessors;
  constexpr std::uint32_t both = hiptool_ops::dot_rows_of_one;
  const std::uint64_t smaller = tiles_of(products, rows / both, false);
  const std::uint64_t tiles = tiles_of(products, rows, false);
  return ceil_divide(smaller, blocks) < both * ceil_divide(tiles, blocks) ? 1 : both;
}

/// How many blocks of the kernels of quantised_ring.hip, and how large; absent where they do not
/// suit.
std::optional<LaunchConfig> ring_launch(const Backend& backend,
                                        std::span<const WeightsProduct> products,
                                        const hiptool_ops::TokenProducts& all) {
  const hiptool_ops::FileMatrix& matrix = all.each[0].matrix;
  const hiptool_ops::RingShape shape = hiptool_ops::ring_shape(matrix.type);
  const BackendState& state = state_of(backend);
  if (shape.tile_rows == 0 || !state.has_rings) return std::nullopt;
  // Kernels count rows and the bytes of one in 32 bits.
  constexpr std::uint64_t most = std::numeric_limits<std::int32_t>::max();
  if (matrix.row_bytes > most || std::ranges::any_of(products, [](const WeightsProduct& one) {
        return one.weights->rows() > most;
      })) {
    return std::nullopt;
  }
  for (const std::uint32_t threads : {+hiptool_ops::ring_threads, +hiptool_ops::layer_threads}) {
    const std::uint64_t shared =
        hiptool_ops::ring_shared_bytes(shape, matrix.columns / hiptool_ops::dot_piece, threads);
    if (shared > hiptool_ops::ring_most_bytes) continue;
    const bool is_gated = all.gate != hiptool_ops::ProductGate::none;
    LaunchConfig config;
    config.block.x = threads;
    config.shared_bytes = static_cast<std::uint32_t>(shared);
    config.grid.x = static_cast<std::uint32_t>(
        std::min(tiles_of(products, shape.tile_rows, is_gated), state.multiprocessors));
    return config;
  }
  return std::nullopt;
}

}  // namespace

hiptool_ops::FileProduct file_product(const Tensor& out, const QuantisedTensor& weights,
                                      const Tensor& vectors) {
  hiptool_ops::FileProduct all{};
  all.matrix = file_matrix(weights);
  all.tokens = vectors.dims()[0];
  all.x_stride = vectors.layout().strides()[0];
  all.x_pieces = has_dot_pieces(vectors) ? 1 : 0;
  all.out_stride = out.layout().strides()[0];
  all.out_step = out.layout().strides()[1];
  return all;
}

void launch_token_products(const Backend& backend, std::span<const WeightsProduct> products,
                           const TokenInput& input, const Tensor* added,
                           hiptool_ops::ProductGate gate) {
  const Tensor& vector = input.vectors;
  hiptool_ops::TokenProducts all{};
  std::array<void*, most_products> weights{};
  std::array<void*, most_products> outs{};
  const bool is_staged = backend.device().platform() == Platform::nvidia;
  std::uint32_t type = 0;
  for (std::size_t i = 0; i < products.size(); ++i) {
    all.each[i] = file_product(*products[i].out, *products[i].weights, vector);
    weights[i] = products[i].weights->blocks().address();
    outs[i] = products[i].out->address();
    type = std::max(type, all.each[i].matrix.type);
  }
  // One kernel computes all of them: if any matrix needs the type apart, whose number is the
  // largest, the others can be read by it too.
  for (hiptool_ops::FileProduct& one : all.each) one.matrix.type = type;
  const hiptool_ops::FileMatrix& matrix = all.each[0].matrix;
  all.count = static_cast<std::uint32_t>(products.size());
  all.gate = gate;
  if (input.norm != nullptr) all.epsilon = static_cast<float>(input.norm->epsilon);
  const void* const norm = input.norm != nullptr ? input.norm->weight->address() : nullptr;
  const void* const also = added != nullptr ? added->address() : nullptr;
  const std::string name = kernel_name_of(matrix, products.front().weights->type());
  BackendState& state = state_of(backend);
  if (const std::optional<LaunchConfig> config = ring_launch(backend, products, all)) {
    if (const auto kernel = state.kernel_if_taken("ops_quantised_ring",
                                                  "hiptool_quantised_matmul_1_ring_" + name)) {
      launch(*kernel, *config, backend.stream(), all, weights[0], weights[1], weights[2],
             vector.address(), norm, also, outs[0], outs[1], outs[2]);
      return;
    }
  }
  const bool is_gated = gate != hiptool_ops::ProductGate::none;
  std::uint64_t rows = hiptool_ops::token_rows(matrix.type, is_staged);
  all.team_rows = hiptool_ops::dot_rows_of_one;
  if (is_staged && hiptool_ops::has_warp_rows(matrix.type) && !is_gated) {
    all.team_rows = team_rows(backend, products, matrix, rows);
    rows = rows / hiptool_ops::dot_rows_of_one * all.team_rows;
  }
  launch(state.kernel("ops_quantised_one", "hiptool_quantised_matmul_1_" + name),
         token_launch(backend, tiles_of(products, rows, is_gated), matrix), backend.stream(), all,
         weights[0], weights[1], weights[2], grids_of(backend, matrix), vector.address(), norm,
         also, outs[0], outs[1], outs[2]);
}

}  // namespace hiptool::ops
