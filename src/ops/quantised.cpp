// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "hiptool/error.hpp"
#include "hiptool/ops.hpp"
#include "hiptool/ops_model.hpp"
#include "hiptool/ops_move.hpp"
#include "hiptool/ops_rows.hpp"
#include "kernel_store/quantised_types.hpp"
#include "model/element_types.hpp"
#include "ops/backend_state.hpp"
#include "ops/faults.hpp"
#include "ops/layers.hpp"
#include "ops/quantised.hpp"
#include "ops/rows.hpp"
#include "ops/token_products.hpp"

namespace hiptool::ops {
namespace {

constexpr std::uint64_t block_alignment = 16;
// Kernels count the pieces of a row in 32 bits.
constexpr std::uint64_t most_columns = std::uint64_t{1} << 35;

bool is_type_of_numbers(std::uint32_t type) {
  switch (static_cast<hiptool_ops::PlainType>(type)) {
    case hiptool_ops::PlainType::f32:
    case hiptool_ops::PlainType::f16:
    case hiptool_ops::PlainType::bf16:
    case hiptool_ops::PlainType::f64: return true;
  }
  return false;
}

/// ggml's number of a type for which there are kernels.
std::uint32_t type_with_kernels(ElementType type) {
  const model::GgufType* const found = model::find_gguf_type(type.name());
  if (found != nullptr && ElementType(found->entry) == type) {
    const bool is_quantised = std::ranges::any_of(
        kernel_store::quantised_types, [&](const auto& known) { return known.id == found->id; });
    if (is_quantised || is_type_of_numbers(found->id)) return found->id;
  }
  throw Error(ErrorCode::unsupported, "QuantisedTensor",
              "no kernels for weights of type '" + std::string(type.name()) +
                  "'; there are for the quantised types of GGUF, F32, F16, BF16 and F64");
}

ElementType type_of_numbers(const Tensor& numbers) {
  std::string_view name;
  switch (numbers.dtype()) {
    case DType::f32: name = "F32"; break;
    case DType::f16: name = "F16"; break;
    case DType::bf16: name = "BF16"; break;
    case DType::f64: name = "F64"; break;
    default:
      throw Error(ErrorCode::unsupported, "QuantisedTensor",
                  "weights are f32, f16, bf16 or f64, not " + describe(numbers));
  }
  return ElementType(model::find_gguf_type(name)->entry);
}

Buffer memory_of_numbers(const Tensor& numbers) {
  const Layout& layout = numbers.layout();
  if (layout.rank() != 2 || !layout.is_contiguous()) {
    refuse("QuantisedTensor", "weights are a contiguous matrix, not " + describe(numbers) +
                                  " with strides " + list_of(layout.strides()) + "; copy them");
  }
  const std::size_t size = element_size_bytes(numbers.dtype());
  if (numbers.element_count() == 0) return numbers.buffer().view(0, 0);
  return numbers.buffer().view(layout.start_offset() * size, numbers.size_bytes());
}

/// The output shares no memory with the weights.
void require_apart(std::string_view operation, const QuantisedTensor& weights, const Tensor& out) {
  if (out.element_count() == 0 || weights.blocks().is_empty()) return;
  const auto begin = std::bit_cast<std::uintptr_t>(weights.blocks().address());
  const auto end = begin + weights.rows() * weights.row_bytes();
  const auto first = std::bit_cast<std::uintptr_t>(out.address());
  const auto past = std::bit_cast<std::uintptr_t>(out.buffer().address()) +
                    out.layout().extent() * element_size_bytes(out.dtype());
  if (first >= end || begin >= past) return;
  refuse(operation, "the output " + describe(out) + " overlaps the weights");
}

void launch_embedding(const Backend& backend, const QuantisedTensor& weights, const Tensor& ids,
                      Tensor& out) {
  hiptool_ops::EmbeddingRows all{};
  all.matrix = file_matrix(weights);
  all.count = ids.element_count();
  all.id_stride = ids.layout().strides()[0];
  all.out_stride = out.layout().strides()[0];
  all.out_step = out.layout().strides()[1];
  const void* const grids = grids_of(backend, all.matrix);
  const Kernel kernel = state_of(backend).kernel("ops_quantised", "hiptool_embedding_rows");
  const auto recording = state_of(backend).faults.begin(
      backend, {ErrorCode::out_of_bounds,
                "embedding_rows",
                "id",
                "is out of range: the table " + describe_weights(weights) + " has " +
                    std::to_string(weights.rows()) + " rows",
                describe(ids),
                {ids.dims().begin(), ids.dims().end()},
                false});
  all.faults = recording.faults;
  all.owner = recording.owner;
  launch_elements(backend, kernel, all.count * ceil_divide(weights.columns(), piece_columns), 1,
                  all, weights.blocks().address(), grids, ids.address(), out.address());
}

}  // namespace

std::string describe_weights(const QuantisedTensor& weights) {
  return std::string(weights.type().name()) +
         list_of(std::array{weights.rows(), weights.columns()});
}

hiptool_ops::FileMatrix file_matrix(const QuantisedTensor& weights) {
  hiptool_ops::FileMatrix matrix{};
  matrix.rows = weights.rows();
  matrix.columns = weights.columns();
  matrix.row_bytes = weights.row_bytes();
  matrix.type = type_with_kernels(weights.type());
  if (weights.device().platform() == Platform::nvidia) {
    matrix.type = hiptool_ops::type_of_memory(matrix.type, weights.rows() * weights.row_bytes());
  }
  matrix.has_pieces = weights.columns() % piece_columns == 0 ? 1 : 0;
  return matrix;
}

void require_weights_device(const Backend& backend, std::string_view operation,
                            const QuantisedTensor& weights) {
  if (weights.device() == backend.device()) return;
  refuse(operation, "the weights " + describe_weights(weights) + " are on " +
                        weights.device().id() + ", and the operation runs on " +
                        backend.device().id());
}

const void* grids_of(const Backend& backend, const hiptool_ops::FileMatrix& matrix) {
  return is_type_of_numbers(matrix.type) ? nullptr : state_of(backend).iq_grids();
}

void QuantisedTensor::require_type(ElementType type) { type_with_kernels(type); }

QuantisedTensor::QuantisedTensor(Buffer blocks, ElementType type, std::uint64_t rows,
                                 std::uint64_t columns)
    : blocks_(std::move(blocks)), type_(type), rows_(rows), columns_(columns) {
  type_with_kernels(type_);
  if (columns_ % type_.block_elements() != 0) {
    refuse("QuantisedTensor", std::to_string(columns_) + " columns are not whole blocks of " +
                                  std::string(type_.name()) + ", which have " +
                                  std::to_string(type_.block_elements()) + " elements");
  }
  if (columns_ > most_columns) {
    refuse("QuantisedTensor", std::to_string(columns_) +
                                  " columns are more than the kernels take, " +
                                  std::to_string(most_columns));
  }
  const std::uint64_t block_bytes = type_.block_bits() / 8;
  const std::uint64_t row_blocks = columns_ / type_.block_elements();
  const std::uint64_t most = ~std::uint64_t{0};
  if (row_blocks > most / block_bytes || (rows_ > 0 && row_blocks * block_bytes > most / rows_)) {
    refuse("QuantisedTensor",
           list_of(std::array{rows_, columns_}) + " has more bytes than 64 bits count");
  }
  row_bytes_ = row_blocks * block_bytes;
  require_memory();
}

QuantisedTensor::QuantisedTensor(const Tensor& numbers)
    : QuantisedTensor(memory_of_numbers(numbers), type_of_numbers(numbers), numbers.dims()[0],
                      numbers.dims()[1]) {}

void QuantisedTensor::require_memory() const {
  if (!blocks_.has_device()) refuse("QuantisedTensor", "the buffer is on no device");
  if (std::bit_cast<std::uintptr_t>(blocks_.address()) % block_alignment != 0) {
    refuse("QuantisedTensor", "the weights are not at a multiple of 16 bytes; copy them to one");
  }
  const std::uint64_t size = rows_ * row_bytes_;
  if (size <= blocks_.size_bytes()) return;
  throw Error(ErrorCode::out_of_bounds, "QuantisedTensor",
              describe_weights(*this) + " takes " + std::to_string(size) +
                  " bytes, and the buffer has " + std::to_string(blocks_.size_bytes()));
}

namespace {

void require_product(const Backend& backend, Tensor& out, const QuantisedTensor& weights,
                     const Tensor& x) {
  constexpr std::string_view name = "quantised_matmul";
  const std::array<const Tensor*, 2> tensors{&x, &out};
  require_weights_device(backend, name, weights);
  require_device(backend, name, tensors);
  require_activations(name, x, 2);
  if (x.dims()[1] != weights.columns()) {
    refuse(name, describe(x) + " does not fit the weights " + describe_weights(weights) +
                     "; it is [tokens, " + std::to_string(weights.columns()) + "]");
  }
  require_output(name, std::span(tensors).first(1), out, DType::f32,
                 std::array{x.dims()[0], weights.rows()});
  require_separate(name, std::span(tensors).first(1), out);
  require_apart(name, weights, out);
}

/// Of blocks of which each computes that many rows of that many tokens.
LaunchConfig product_launch(std::uint64_t tiles, std::uint64_t rows, std::uint64_t tokens) {
  LaunchConfig config;
  config.grid.x = static_cast<std::uint32_t>(std::min<std::uint64_t>(tiles, 0x7FFFFFFF));
  config.block.x = hiptool_ops::layer_threads;
  config.shared_bytes =
      static_cast<std::uint32_t>(rows * tokens * hiptool_ops::dot_pitch * sizeof(float));
  return config;
}

/// Whether the kernel with large tiles is faster: per multiprocessor it is four times as fast as
/// that for eight tokens at a time (H200), when all of a tile is needed.
bool suits_many_tokens(const Backend& backend, const QuantisedTensor& weights,
                       std::uint64_t tokens) {
  const BackendState& state = state_of(backend);
  constexpr std::uint64_t least_tokens = 2 * hiptool_ops::dot_tokens;
  constexpr std::uint64_t tile = hiptool_ops::many_rows * hiptool_ops::many_tokens;
  if (!state.has_large_blocks || tokens < least_tokens) return false;
  return weights.rows() >= tile * state.multiprocessors / 4 / tokens;
}

void launch_many_products(const Backend& backend, const Tensor& out, const QuantisedTensor& weights,
                          const Tensor& vectors) {
  const hiptool_ops::FileProduct all = file_product(out, weights, vectors);
  LaunchConfig config = product_launch(ceil_divide(weights.rows(), hiptool_ops::many_rows) *
                                           ceil_divide(all.tokens, hiptool_ops::many_tokens),
                                       0, 0);
  config.block.x = hiptool_ops::many_multipliers + 2 * hiptool_ops::many_decoders;
  config.shared_bytes = hiptool_ops::many_shared_bytes;
  launch(state_of(backend).kernel("ops_quantised_many", "hiptool_quantised_matmul_64"), config,
         backend.stream(), all, weights.blocks().address(), grids_of(backend, all.matrix),
         vectors.address(), out.address());
}

void launch_products(const Backend& backend, const Tensor& out, const QuantisedTensor& weights,
                     const Tensor& vectors) {
  if (suits_many_tokens(backend, weights, vectors.dims()[0])) {
    launch_many_products(backend, out, weights, vectors);
    return;
  }
  constexpr std::uint64_t rows = hiptool_ops::dot_teams * hiptool_ops::dot_rows_of_many;
  constexpr std::uint64_t tokens = hiptool_ops::dot_tokens;
  const hiptool_ops::FileProduct all = file_product(out, weights, vectors);
  const std::uint64_t tiles = ceil_divide(weights.rows(), rows) * ceil_divide(all.tokens, tokens);
  launch(state_of(backend).kernel("ops_quantised", "hiptool_quantised_matmul_8"),
         product_launch(tiles, rows, tokens), backend.stream(), all, weights.blocks().address(),
         grids_of(backend, all.matrix), vectors.address(), out.address());
}

bool is_one_launch(std::span<const WeightsProduct> products, const Tensor& vectors) {
  const ElementType type = products.front().weights->type();
  return vectors.dims()[0] == 1 && has_dot_pieces(vectors) &&
         std::ranges::all_of(products, [&](const WeightsProduct& one) {
           return one.weights->type() == type && one.out->element_count() > 0;
         });
}

TokenInput kernel_input(const Backend& backend, std::span<const WeightsProduct> products,
                        const ProductInput& input) {
  if (!input.norm) return {with_neighbours(backend, input.x)};
  const InputNorm& norm = *input.norm;
  if (can_norm_input(backend, products, input.x, norm)) return {input.x, &norm};
  Tensor normed = norm.normed;
  rmsnorm_into(backend, normed, input.x, *norm.weight, norm.epsilon);
  return {with_neighbours(backend, normed)};
}

void require_products(const Backend& backend, std::span<const WeightsProduct> products,
                      const ProductInput& input) {
  for (const WeightsProduct& one : products) {
    require_product(backend, *one.out, *one.weights, input.x);
    if (input.norm) require_separate("quantised_matmul", std::array{input.norm->weight}, *one.out);
  }
}

void multiply(const Backend& backend, std::span<const WeightsProduct> products,
              const TokenInput& input) {
  if (is_one_launch(products, input.vectors)) {
    launch_token_products(backend, products, input, nullptr);
    return;
  }
  for (const WeightsProduct& one : products) {
    if (one.out->element_count() == 0) continue;
    if (is_one_launch(std::span(&one, 1), input.vectors)) {
      launch_token_products(backend, std::span(&one, 1), input, nullptr);
    } else {
      launch_products(backend, *one.out, *one.weights, input.vectors);
    }
  }
}

}  // namespace

bool can_norm_input(const Backend& backend, std::span<const WeightsProduct> products,
                    const Tensor& x, const InputNorm& norm) {
  const Tensor& weight = *norm.weight;
  if (backend.device().platform() != Platform::nvidia) return false;
  if (weight.device() != backend.device() || weight.dtype() != DType::f32) return false;
  if (weight.layout().rank() != 1 || weight.dims()[0] != x.dims()[1]) return false;
  if (weight.layout().strides()[0] != 1 || !has_whole_pieces(weight)) return false;
  if (x.layout().strides()[1] != 1) return false;
  return std::ranges::all_of(
      products, [&](const WeightsProduct& one) { return is_one_launch(std::span(&one, 1), x); });
}

void quantised_matmul_into(const Backend& backend, Tensor& out, const QuantisedTensor& weights,
                           const Tensor& x) {
  const WeightsProduct one{&weights, &out};
  quantised_matmuls_into(backend, std::span(&one, 1), x);
}

void quantised_matmuls_into(const Backend& backend, std::span<const WeightsProduct> products,
                            const ProductInput& input) {
  require_products(backend, products, input);
  multiply(backend, products, kernel_input(backend, products, input));
}

void add_quantised_matmul_into(const Backend& backend, Tensor& sum, const QuantisedTensor& weights,
                               const Tensor& x, Tensor& product) {
  const WeightsProduct one{&weights, &sum};
  require_product(backend, sum, weights, x);
  const TokenInput input{with_neighbours(backend, x)};
  if (is_one_launch(std::span(&one, 1), input.vectors)) {
    launch_token_products(backend, std::span(&one, 1), input, &sum);
    return;
  }
  quantised_matmul_into(backend, product, weights, x);
  add_into(backend, sum, sum, product);
}

void gated_quantised_matmul_into(const Backend& backend, Tensor& out, Gate kind,
                                 const QuantisedTensor& gates, const QuantisedTensor& values,
                                 const ProductInput& input, Tensor& scratch) {
  const std::array<WeightsProduct, 2> products{WeightsProduct{&gates, &out}, {&values, &scratch}};
  require_products(backend, products, input);
  const TokenInput own = kernel_input(backend, products, input);
  const bool is_known = kind == Gate::silu || kind == Gate::gelu;
  if (is_known && gates.rows() == values.rows() && is_one_launch(products, own.vectors)) {
    launch_token_products(
        backend, products, own, nullptr,
        kind == Gate::silu ? hiptool_ops::ProductGate::silu : hiptool_ops::ProductGate::gelu);
    return;
  }
  multiply(backend, products, own);
  gate_into(backend, out, kind, out, scratch);
}

Tensor quantised_matmul(const Backend& backend, const QuantisedTensor& weights, const Tensor& x) {
  require_activations("quantised_matmul", x, 2);
  Tensor out = backend.empty(DType::f32, {x.dims()[0], weights.rows()});
  quantised_matmul_into(backend, out, weights, x);
  return out;
}

void embedding_rows_into(const Backend& backend, Tensor& out, const QuantisedTensor& weights,
                         const Tensor& ids) {
  constexpr std::string_view name = "embedding_rows";
  const std::array<const Tensor*, 2> tensors{&ids, &out};
  require_weights_device(backend, name, weights);
  require_device(backend, name, tensors);
  if (ids.dtype() != DType::u32 || ids.layout().rank() != 1) {
    refuse(name, "ids are u32 [n], not " + describe(ids));
  }
  require_output(name, std::span(tensors).first(1), out, DType::f32,
                 std::array{ids.element_count(), weights.columns()});
  require_separate(name, std::span(tensors).first(1), out);
  require_apart(name, weights, out);
  if (out.element_count() > 0) launch_embedding(backend, weights, ids, out);
}

Tensor embedding_rows(const Backend& backend, const QuantisedTensor& weights, const Tensor& ids) {
  Tensor out = backend.empty(DType::f32, {ids.element_count(), weights.columns()});
  embedding_rows_into(backend, out, weights, ids);
  return out;
}

Tensor embedding_rows(const Backend& backend, const QuantisedTensor& weights,
                      std::span<const std::uint32_t> ids) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < weights.rows()) continue;
    throw Error(ErrorCode::out_of_bounds, "embedding_rows",
                "embedding_rows: id " + std::to_string(ids[i]) + " at position " +
                    std::to_string(i) + " is out of range: the table " + describe_weights(weights) +
                    " has " + std::to_string(weights.rows()) + " rows");
  }
  const std::array<std::uint64_t, 1> dims{ids.size()};
  return embedding_rows(
      backend, weights,
      Tensor::from_host<std::uint32_t>({backend.allocator(), backend.stream()}, ids, dims));
}

}  // namespace hiptool::ops
