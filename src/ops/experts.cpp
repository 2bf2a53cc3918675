// SPDX-License-Identifier: MIT
#include "hiptool/ops_experts.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "ops/backend_state.hpp"
#include "ops/layers.hpp"
#include "ops/quantised.hpp"
#include "ops/rows.hpp"

// Shared with the kernels.
#include <hiptool_experts.h>

namespace hiptool::ops {
namespace {

constexpr std::uint32_t most_grid = 0x7FFFFFFF;

[[noreturn]] void refuse_experts(const std::string& why) { refuse("ExpertTensors", why); }

std::uint32_t grid_for(std::uint64_t blocks) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(blocks, most_grid));
}

void require_shape(std::string_view operation, const Tensor& tensor, DType dtype,
                   std::array<std::uint64_t, 2> dims) {
  if (tensor.dtype() == dtype && std::ranges::equal(tensor.dims(), dims)) return;
  refuse(operation,
         describe(tensor) + " is not " + std::string(to_string(dtype)) + " " + list_of(dims));
}

/// Lists that kernels go through without strides.
void require_packed(std::string_view operation, const Tensor& tensor) {
  if (tensor.layout().is_contiguous()) return;
  refuse(operation, describe(tensor) + " is not contiguous; copy it");
}

void require_ids(std::string_view operation, const Tensor& ids) {
  if (ids.dtype() != DType::u32 || ids.layout().rank() != 2 || ids.dims()[1] == 0) {
    refuse(operation, "ids are u32 [tokens, used], not " + describe(ids));
  }
  require_packed(operation, ids);
}

void require_neighbours(std::string_view operation, const Tensor& tensor) {
  if (tensor.layout().strides()[1] == 1 || tensor.dims()[1] <= 1) return;
  refuse(operation, describe(tensor) + " has elements of a row apart; copy it");
}

/// The tables of codes where a matrix needs them.
const void* grids_of_all(const Backend& backend, const ExpertTensors& weights) {
  for (const QuantisedTensor& matrix : weights.matrices()) {
    if (const void* grids = grids_of(backend, file_matrix(matrix))) return grids;
  }
  return nullptr;
}

std::vector<hiptool_ops::ExpertMatrix> table_of(const std::vector<QuantisedTensor>& matrices,
                                                std::uint64_t experts, std::uint64_t rows) {
  std::vector<hiptool_ops::ExpertMatrix> table;
  for (std::uint64_t expert = 0; expert < experts; ++expert) {
    const bool is_stacked = matrices.size() == 1;
    const QuantisedTensor& matrix = matrices[is_stacked ? 0 : static_cast<std::size_t>(expert)];
    const hiptool_ops::FileMatrix file = file_matrix(matrix);
    const auto address = std::bit_cast<std::uintptr_t>(matrix.blocks().address());
    table.push_back({address + (is_stacked ? expert * rows * file.row_bytes : 0), file.row_bytes, 0,
                     file.type, file.has_pieces});
  }
  return table;
}

Buffer on_device(const Backend& backend, const std::vector<hiptool_ops::ExpertMatrix>& table) {
  Buffer copy(backend.device(), table.size() * sizeof table.front());
  copy_h2d_and_wait(copy, std::as_bytes(std::span(table)));
  return copy;
}

}  // namespace

ExpertTensors::ExpertTensors(const Backend& backend, std::vector<QuantisedTensor> matrices,
                             std::uint64_t experts)
    : matrices_(std::move(matrices)), experts_(experts) {
  if (experts_ == 0 || experts_ > hiptool_ops::most_experts) {
    refuse_experts(std::to_string(experts_) + " experts; there are kernels for 1 to 1024");
  }
  if (matrices_.size() != experts_ && matrices_.size() != 1) {
    refuse_experts(std::to_string(matrices_.size()) + " matrices do not belong to " +
                   std::to_string(experts_) + " experts");
  }
  const QuantisedTensor& first = matrices_.front();
  for (const QuantisedTensor& matrix : matrices_) {
    require_weights_device(backend, "ExpertTensors", matrix);
    if (matrix.rows() == first.rows() && matrix.columns() == first.columns()) continue;
    refuse_experts(describe_weights(matrix) + " has another shape than " + describe_weights(first));
  }
  if (matrices_.size() == 1 && first.rows() % experts_ != 0) {
    refuse_experts(describe_weights(first) + " does not have the rows of " +
                   std::to_string(experts_) + " experts");
  }
  rows_ = matrices_.size() == 1 ? first.rows() / experts_ : first.rows();
  columns_ = first.columns();
  table_ = on_device(backend, table_of(matrices_, experts_, rows_));
}

ExpertTensors::ExpertTensors(const Backend& backend, const Packed& packed)
    : experts_(packed.experts),
      rows_(packed.rows),
      columns_(packed.columns),
      packed_{packed.codes, packed.exponents} {
  constexpr std::uint64_t block = 32;
  constexpr std::uint64_t most = std::uint64_t{1} << 31;
  if (experts_ == 0 || experts_ > hiptool_ops::most_experts) {
    refuse_experts(std::to_string(experts_) + " experts; there are kernels for 1 to 1024");
  }
  if (columns_ % block != 0 || columns_ > most || rows_ > most || packed.row_step == 0 ||
      packed.row_step > most / block || packed.first_row >= packed.row_step) {
    refuse_experts(std::to_string(packed.row_step) + " x " + std::to_string(rows_) + " rows of " +
                   std::to_string(columns_) + " elements, which are not whole blocks of 32");
  }
  const std::uint64_t row_blocks = columns_ / block;
  for (const Buffer& part : packed_) {
    if (!part.has_device() || !(part.device() == backend.device())) {
      refuse_experts("codes and exponents are not on " + backend.device().id());
    }
  }
  if (std::bit_cast<std::uintptr_t>(packed.codes.address()) % 16 != 0) {
    refuse_experts("the codes are not at a multiple of 16 bytes; copy them to one");
  }
  // Each factor is at most 2^31, and blocks at most 2^26: no product of two exceeds 64 bits.
  const std::uint64_t stored = packed.row_step * rows_;
  const bool fits = stored == 0 || row_blocks == 0 ||
                    experts_ * stored <= packed.exponents.size_bytes() / row_blocks;
  if (!fits || packed.codes.size_bytes() / 16 < experts_ * stored * row_blocks) {
    throw Error(ErrorCode::out_of_bounds, "ExpertTensors",
                std::to_string(experts_) + " x " + std::to_string(stored) + " x " +
                    std::to_string(columns_) + " elements exceed the buffers");
  }
  const auto codes = std::bit_cast<std::uintptr_t>(packed.codes.address());
  const auto exponents = std::bit_cast<std::uintptr_t>(packed.exponents.address());
  std::vector<hiptool_ops::ExpertMatrix> table;
  for (std::uint64_t expert = 0; expert < experts_; ++expert) {
    const std::uint64_t first = (expert * stored + packed.first_row) * row_blocks;
    table.push_back({codes + first * 16, packed.row_step * row_blocks * 16, exponents + first,
                     hiptool_ops::split_mxfp4, 0});
  }
  table_ = on_device(backend, table);
}

void route_experts_into(const Backend& backend, ExpertRouting& out, const Tensor& scores,
                        bool is_normalised) {
  constexpr std::string_view name = "route_experts";
  require_device(backend, name, std::array<const Tensor*, 3>{&scores, &out.ids, &out.weights});
  require_activations(name, scores, 2);
  require_ids(name, out.ids);
  const std::uint64_t tokens = scores.dims()[0];
  const std::uint64_t experts = scores.dims()[1];
  const std::uint64_t used = out.ids.dims()[1];
  if (experts == 0 || experts > hiptool_ops::most_experts || used > experts) {
    refuse(name, std::to_string(used) + " of " + std::to_string(experts) +
                     " experts; there are kernels for up to 1024");
  }
  require_shape(name, out.ids, DType::u32, {tokens, used});
  require_shape(name, out.weights, DType::f32, {tokens, used});
  require_packed(name, out.weights);
  for (const Tensor* result : {&out.ids, &out.weights}) {
    require_separate(name, std::array<const Tensor*, 1>{&scores}, *result);
  }
  require_separate(name, std::array<const Tensor*, 1>{&out.ids}, out.weights);
  if (tokens == 0) return;
  const Tensor rows = with_neighbours(backend, scores);
  const hiptool_ops::Routing all{tokens, rows.layout().strides()[0],
                                 static_cast<std::uint32_t>(experts),
                                 static_cast<std::uint32_t>(used), is_normalised ? 1U : 0U};
  LaunchConfig config;
  config.grid.x = grid_for(tokens);
  config.block.x = hiptool_ops::layer_threads;
  config.shared_bytes = static_cast<std::uint32_t>((experts + used) * sizeof(float));
  launch(state_of(backend).kernel("ops_experts", "hiptool_route_experts"), config, backend.stream(),
         all, rows.address(), out.ids.address(), out.weights.address());
}

ExpertRouting route_experts(const Backend& backend, const Tensor& scores, std::uint64_t used,
                            bool is_normalised) {
  require_activations("route_experts", scores, 2);
  const std::uint64_t tokens = scores.dims()[0];
  ExpertRouting out{backend.empty(DType::u32, {tokens, used}),
                    backend.empty(DType::f32, {tokens, used})};
  route_experts_into(backend, out, scores, is_normalised);
  return out;
}

void expert_matmul_into(const Backend& backend, Tensor& out, const ExpertTensors& weights,
                        const Tensor& ids, const Tensor& x, const ExpertBias* bias) {
  constexpr std::string_view name = "expert_matmul";
  require_device(backend, name, std::array<const Tensor*, 3>{&ids, &x, &out});
  if (!(weights.table().device() == backend.device())) {
    refuse(name, "the weights are on " + weights.table().device().id() +
                     ", and the operation runs on " + backend.device().id());
  }
  require_ids(name, ids);
  require_activations(name, x, 2);
  const std::uint64_t slots = ids.element_count();
  if (x.dims()[1] != weights.columns() || (x.dims()[0] != ids.dims()[0] && x.dims()[0] != slots)) {
    refuse(name, describe(x) + " does not fit the ids " + describe(ids) + " and matrices of " +
                     std::to_string(weights.columns()) + " columns");
  }
  require_shape(name, out, DType::f32, {slots, weights.rows()});
  require_neighbours(name, out);
  require_separate(name, std::array<const Tensor*, 2>{&ids, &x}, out);
  if (bias != nullptr) {
    require_device(backend, name, std::array<const Tensor*, 1>{&bias->values});
    if (bias->row_step == 0 || bias->first_row >= bias->row_step) {
      refuse(name, "row " + std::to_string(bias->first_row) + " of every " +
                       std::to_string(bias->row_step) + " of the bias");
    }
    require_shape(name, bias->values, DType::f32,
                  {weights.experts(), bias->row_step * weights.rows()});
    require_packed(name, bias->values);
  }
  if (out.element_count() == 0) return;
  const Tensor vectors = with_neighbours(backend, x);
  hiptool_ops::ExpertProduct all{};
  all.slots = slots;
  all.slots_of_x = slots / x.dims()[0];
  all.experts = weights.experts();
  all.rows = weights.rows();
  all.columns = weights.columns();
  all.x_stride = vectors.layout().strides()[0];
  all.out_stride = out.layout().strides()[0];
  all.x_pieces = has_dot_pieces(vectors) ? 1 : 0;
  if (bias != nullptr) {
    all.has_bias = 1;
    all.bias_stride = bias->row_step * all.rows;
    all.bias_first = bias->first_row;
    all.bias_step = bias->row_step;
  }
  constexpr std::uint64_t rows = hiptool_ops::dot_teams * hiptool_ops::dot_rows_of_one;
  LaunchConfig config;
  config.grid.x = grid_for(ceil_divide(all.rows, rows) * slots);
  config.block.x = hiptool_ops::layer_threads;
  config.shared_bytes = static_cast<std::uint32_t>(rows * hiptool_ops::dot_pitch * sizeof(float));
  launch(state_of(backend).kernel("ops_experts", "hiptool_expert_matmul"), config, backend.stream(),
         all, weights.table().address(), grids_of_all(backend, weights), ids.address(),
         vectors.address(),
         bias != nullptr ? static_cast<const void*>(bias->values.address()) : nullptr,
         out.address());
}

Tensor expert_matmul(const Backend& backend, const ExpertTensors& weights, const Tensor& ids,
                     const Tensor& x, const ExpertBias* bias) {
  Tensor out = backend.empty(DType::f32, {ids.element_count(), weights.rows()});
  expert_matmul_into(backend, out, weights, ids, x, bias);
  return out;
}

void clamped_gate_into(const Backend& backend, Tensor& out, const Tensor& gates, const Tensor& up,
                       double limit, double slope) {
  constexpr std::string_view name = "clamped_gate";
  const std::array<const Tensor*, 3> tensors{&gates, &up, &out};
  require_device(backend, name, tensors);
  if (gates.dtype() != DType::f32) refuse(name, describe(gates) + " is not f32");
  require_same_dtype(name, gates, up);
  require_same_dims(name, gates, up);
  require_output(name, std::span(tensors).first(2), out, DType::f32, gates.dims());
  for (const Tensor* tensor : tensors) require_packed(name, *tensor);
  if (!(limit > 0 && std::isfinite(limit) && slope > 0 && std::isfinite(slope))) {
    refuse(name, "a limit of " + std::to_string(limit) + " and a slope of " +
                     std::to_string(slope) + "; both are finite and above 0");
  }
  if (out.element_count() == 0) return;
  const hiptool_ops::ClampedGate all{out.element_count(), static_cast<float>(limit),
                                     static_cast<float>(slope)};
  launch_elements(backend, state_of(backend).kernel("ops_experts", "hiptool_clamped_gate"),
                  all.count, 1, all, gates.address(), up.address(), out.address());
}

Tensor clamped_gate(const Backend& backend, const Tensor& gates, const Tensor& up, double limit,
                    double slope) {
  Tensor out = backend.empty(DType::f32, gates.dims());
  clamped_gate_into(backend, out, gates, up, limit, slope);
  return out;
}

void add_experts_into(const Backend& backend, Tensor& out, const Tensor& slots,
                      const Tensor& weights) {
  constexpr std::string_view name = "add_experts";
  require_device(backend, name, std::array<const Tensor*, 3>{&slots, &weights, &out});
  require_activations(name, slots, 2);
  require_activations(name, weights, 2);
  require_activations(name, out, 2);
  const std::uint64_t tokens = weights.dims()[0];
  const std::uint64_t used = weights.dims()[1];
  const std::uint64_t columns = slots.dims()[1];
  require_shape(name, slots, DType::f32, {tokens * used, columns});
  require_packed(name, weights);
  require_neighbours(name, slots);
  require_shape(name, out, DType::f32, {tokens, columns});
  require_neighbours(name, out);
  require_separate(name, std::array<const Tensor*, 2>{&slots, &weights}, out);
  if (out.element_count() == 0) return;
  const hiptool_ops::ExpertSum all{tokens, used, columns, slots.layout().strides()[0],
                                   out.layout().strides()[0]};
  launch_elements(backend, state_of(backend).kernel("ops_experts", "hiptool_add_experts"),
                  tokens * columns, 1, all, slots.address(), weights.address(), out.address());
}

Tensor add_experts(const Backend& backend, const Tensor& slots, const Tensor& weights) {
  require_activations("add_experts", slots, 2);
  require_activations("add_experts", weights, 2);
  Tensor out = backend.empty(DType::f32, {weights.dims()[0], slots.dims()[1]});
  add_experts_into(backend, out, slots, weights);
  return out;
}

}  // namespace hiptool::ops
