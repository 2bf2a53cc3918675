// SPDX-License-Identifier: MIT
#include "hiptool/matmul.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "hiptool/error.hpp"
#include "hiptool/ops_move.hpp"
#include "ops/backend_state.hpp"
#include "ops/operands.hpp"
#include "ops/rows.hpp"

// Shared with the kernels.
#include <hiptool_matmul.h>

namespace hiptool::ops {
namespace {

using hiptool_ops::Matmul;
using hiptool_ops::matmul_piece;
using hiptool_ops::MatmulFactor;
using hiptool_ops::MatmulTile;

constexpr std::string_view matmul_name = "matmul";

struct MatrixAxis {
  std::uint64_t size;
  std::uint64_t stride;
};
/// The axis that is `from_last` axes before the last one.
MatrixAxis axis_of(const Tensor& tensor, std::size_t from_last) {
  const std::size_t axis = tensor.layout().rank() - 1 - from_last;
  return {tensor.dims()[axis], tensor.layout().strides()[axis]};
}

bool has_neighbours(MatrixAxis axis) { return axis.size == 1 || axis.stride == 1; }

/// Whether kernels can read or write the matrices of that tensor where they are.
bool is_matrix(const Tensor& tensor) {
  return has_neighbours(axis_of(tensor, 0)) || has_neighbours(axis_of(tensor, 1));
}

Tensor transposed(const Tensor& tensor) {
  const std::size_t rank = tensor.layout().rank();
  return tensor.with_layout(tensor.layout().transpose(rank - 2, rank - 1));
}

/// The dimensions of the result.
std::vector<std::uint64_t> product_dims(const Tensor& a, const Tensor& b) {
  const std::size_t rank = a.layout().rank();
  bool fits = rank >= 2 && rank == b.layout().rank() && a.dims()[rank - 1] == b.dims()[rank - 2];
  std::vector<std::uint64_t> dims(a.dims().begin(), a.dims().end());
  for (std::size_t i = 0; fits && i + 2 < rank; ++i) {
    if (dims[i] == 1) dims[i] = b.dims()[i];
    fits = b.dims()[i] == 1 || b.dims()[i] == dims[i];
  }
  if (!fits) {
    refuse(matmul_name, describe(a) + " and " + describe(b) +
                            " do not fit; [batch.., m, k] times [batch.., k, n], batch dimensions "
                            "equal or 1");
  }
  dims[rank - 1] = b.dims()[rank - 1];
  return dims;
}

/// The batch axes alone, repeated to those of the result.
Layout batch_layout(const Tensor& tensor, const Tensor& out) {
  const std::size_t axes = out.layout().rank() - 2;
  std::array<std::uint64_t, Layout::max_rank> strides{};
  for (std::size_t i = 0; i < axes; ++i) {
    strides[i] = tensor.dims()[i] == 1 ? 0 : tensor.layout().strides()[i];
  }
  return Layout::strided(out.dims().first(axes), std::span(strides).first(axes));
}

/// Whether all pieces of neighbours begin at multiples of their size.
bool are_aligned(const Tensor& tensor, MatrixAxis other) {
  const std::uint64_t size = element_size_bytes(tensor.dtype());
  const std::uint64_t piece = std::min<std::uint64_t>(16, matmul_piece * size);
  bool result = reinterpret_cast<std::uintptr_t>(tensor.address()) % piece == 0;
  result = result && (other.size == 1 || other.stride * size % piece == 0);
  for (std::size_t i = 0; i + 2 < tensor.layout().rank(); ++i) {
    result = result && (tensor.dims()[i] == 1 || tensor.layout().strides()[i] * size % piece == 0);
  }
  return result;
}

MatmulFactor make_factor(const Tensor& tensor, MatrixAxis own, MatrixAxis along_k) {
  MatmulFactor factor{};
  factor.size = own.size;
  factor.stride = own.stride;
  factor.k_stride = along_k.stride;
  const bool has_own = has_neighbours(own);
  factor.is_across = along_k.size > 1 ? along_k.stride == 1 : !has_own;
  const bool is_whole = factor.is_across != 0 || own.size % matmul_piece == 0;
  factor.has_pieces =
      is_whole && are_aligned(tensor, factor.is_across != 0 ? own : along_k) ? 1 : 0;
  return factor;
}

template <unsigned side>
void launch_tiles(const Backend& backend, Matmul& all, const Tensor& a, const Tensor& b,
                  const Tensor& out) {
  using Tile = MatmulTile<side>;
  all.row_tiles = ceil_divide(all.a.size, Tile::tile);
  all.column_tiles = ceil_divide(all.b.size, Tile::tile);
  const std::uint64_t blocks = all.row_tiles * all.column_tiles * all.chunks * all.batches.count;
  LaunchConfig config;
  config.block.x = hiptool_ops::matmul_threads;
  config.grid.x = static_cast<std::uint32_t>(std::min<std::uint64_t>(blocks, 0x7FFFFFFF));
  config.shared_bytes = Tile::numbers * (out.dtype() == DType::f64 ? 8 : 4);
  const std::string name =
      "hiptool_matmul_" + std::string(to_string(out.dtype())) + "_" + std::to_string(side);
  launch(backend.state().kernel("ops_matmul", name), config, backend.stream(), all, a.address(),
         b.address(), out.address(), static_cast<void*>(nullptr));
}

/// Columns of the output are neighbours, and no layout needs a copy.
void multiply_matrices(const Backend& backend, const Tensor& a, const Tensor& b, const Tensor& out,
                       const MatmulOptions& options) {
  Matmul all{};
  const MatrixAxis columns = axis_of(b, 0);
  all.a = make_factor(a, axis_of(a, 1), axis_of(a, 0));
  all.b = make_factor(b, columns, axis_of(b, 1));
  // The operands of no product are not read, not even for their NaN.
  all.k = options.alpha == 0 ? 0 : axis_of(a, 0).size;
  all.chunk = all.k;
  all.chunks = 1;
  const MatrixAxis out_rows = axis_of(out, 1);
  all.out_stride = out_rows.stride;
  all.out_pieces = columns.size % matmul_piece == 0 && are_aligned(out, out_rows) ? 1 : 0;
  all.reads_out = options.beta != 0 ? 1 : 0;
  all.alpha = options.alpha;
  all.beta = options.beta;
  const std::array<Layout, 3> batches{batch_layout(a, out), batch_layout(b, out),
                                      batch_layout(out, out)};
  all.batches =
      make_operands<3>(std::array<const Layout*, 3>{&batches[0], &batches[1], &batches[2]}, 2);
  constexpr std::uint64_t large = MatmulTile<8>::tile;
  // Fewer do not fill a GPU.
  const std::uint64_t many_tiles = backend.device().is_host_memory() ? 1 : 128;
  const std::uint64_t tiles = ceil_divide(all.a.size, large) * ceil_divide(all.b.size, large);
  const bool is_small = std::min(all.a.size, all.b.size) <= MatmulTile<4>::tile;
  if (out.dtype() == DType::f64 || is_small || tiles * all.batches.count < many_tiles) {
    launch_tiles<4>(backend, all, a, b, out);
  } else {
    launch_tiles<8>(backend, all, a, b, out);
  }
}

void require_copies(const MatmulOptions& options, const Tensor& tensor) {
  if (!options.no_copies) return;
  throw Error(ErrorCode::unsupported, std::string(matmul_name),
              std::string(matmul_name) + ": " + describe(tensor) + " with strides " +
                  list_of(tensor.layout().strides()) +
                  " needs a copy: none of its last two axes has stride 1");
}

}  // namespace

void matmul_into(const Backend& backend, const Tensor& a, const Tensor& b, const Tensor& out,
                 const MatmulOptions& options) {
  const std::array<const Tensor*, 3> tensors{&a, &b, &out};
  require_device(backend, matmul_name, tensors);
  require_real(matmul_name, a);
  require_same_dtype(matmul_name, a, b);
  require_output(matmul_name, std::span(tensors).first(2), out, a.dtype(), product_dims(a, b));
  require_separate(matmul_name, std::span(tensors).first(2), out);
  if (out.element_count() == 0) return;
  if (!is_matrix(out)) {
    require_copies(options, out);
    const Tensor whole = backend.empty(out.dtype(), out.dims());
    if (options.beta != 0) copy_into(backend, out, whole);
    matmul_into(backend, a, b, whole, options);
    copy_into(backend, whole, out);
    return;
  }
  const auto readable = [&](const Tensor& tensor) {
    if (tensor.element_count() == 0 || is_matrix(tensor)) return tensor;
    require_copies(options, tensor);
    return copy(backend, tensor);
  };
  const Tensor left = readable(a);
  const Tensor right = readable(b);
  if (has_neighbours(axis_of(out, 0))) {
    multiply_matrices(backend, left, right, out, options);
  } else {
    multiply_matrices(backend, transposed(right), transposed(left), transposed(out), options);
  }
}

Tensor matmul(const Backend& backend, const Tensor& a, const Tensor& b,
              const MatmulOptions& options) {
  require_real(matmul_name, a);
  Tensor out = backend.empty(a.dtype(), product_dims(a, b));
  // A new tensor has no old values.
  MatmulOptions of_new = options;
  of_new.beta = 0;
  matmul_into(backend, a, b, out, of_new);
  return out;
}

}  // namespace hiptool::ops
