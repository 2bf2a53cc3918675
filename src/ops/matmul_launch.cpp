// SPDX-License-Identifier: MIT
#include "ops/matmul_launch.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

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

/// How sums are made. It depends on the shapes alone, and so do the bits of results.
struct SumOrder {
  bool is_of_vectors;  // as matmul_vectors.hip has it
  std::uint64_t chunk;
  std::uint64_t chunks;
};

/// Rows of all matrices that are multiplied by one and the same other matrix.
std::uint64_t rows_of_all(std::uint64_t rows, const MatrixProduct& product,
                          const MatrixOperand& other) {
  for (std::size_t axis = product.batch_axes; axis-- > 0 && other.batch_dims[axis] == 1;) {
    rows *= product.out.batch_dims[axis];
  }
  return rows;
}

SumOrder order_of(const MatrixProduct& product) {
  constexpr std::uint64_t least_vector = 64;  // shorter ones leave lanes without work
  constexpr std::uint64_t enough_blocks = 128;
  constexpr std::uint64_t least_chunk = 1024;
  const std::uint64_t k = product.a.columns.size;
  const std::uint64_t rows = rows_of_all(product.a.rows.size, product, product.b);
  const std::uint64_t columns = rows_of_all(product.b.columns.size, product, product.a);
  std::uint64_t results = product.a.rows.size * product.b.columns.size;
  for (std::size_t axis = 0; axis < product.batch_axes; ++axis) {
    results *= product.out.batch_dims[axis];
  }
  const std::uint64_t products = results / (rows * columns);
  const auto [narrow, wide] = std::minmax(rows, columns);
  SumOrder order{};
  order.is_of_vectors = narrow <= hiptool_ops::matmul_vectors && k >= least_vector;
  constexpr std::uint64_t tile = MatmulTile<4>::tile;
  const std::uint64_t blocks =
      products * (order.is_of_vectors ? ceil_divide(wide, hiptool_ops::matmul_rows)
                                      : ceil_divide(narrow, tile) * ceil_divide(wide, tile));
  const std::uint64_t pieces = std::min(enough_blocks / blocks, k / least_chunk);
  order.chunk = k;
  order.chunks = 1;
  if (pieces > 1) {
    constexpr std::uint64_t stride = hiptool_ops::matmul_stride;
    order.chunk = ceil_divide(ceil_divide(k, pieces), stride) * stride;
    order.chunks = ceil_divide(k, order.chunk);
  }
  return order;
}

/// Takes the last batch axis as more rows, where all matrices along it are multiplied by the same
/// one, their rows follow each other, and the kernels of the order can take that many.
bool join_rows(MatrixProduct& product, const SumOrder& order) {
  const std::size_t last = product.batch_axes - 1;
  const std::uint64_t count = product.out.batch_dims[last];
  if (product.b.batch_strides[last] != 0) return false;
  const auto join = [&](MatrixOperand& operand) {
    MatrixAxis& rows = operand.rows;
    const std::uint64_t stride = operand.batch_strides[last];
    if (rows.size == 1) {
      rows.stride = stride;
    } else if (stride != rows.size * rows.stride) {
      return false;
    }
    rows.size *= count;
    return true;
  };
  MatrixProduct joined = product;
  if (!join(joined.a) || !join(joined.out)) return false;
  if (!has_neighbours(joined.a.rows) && !has_neighbours(joined.a.columns)) return false;
  if (!has_neighbours(joined.out.columns)) return false;
  const std::uint64_t narrow = std::min(joined.a.rows.size, joined.b.columns.size);
  if (order.is_of_vectors && narrow > hiptool_ops::matmul_vectors) return false;
  --joined.batch_axes;
  product = joined;
  return true;
}

void join_batches(MatrixProduct& product, const SumOrder& order) {
  while (product.batch_axes > 0) {
    if (product.out.batch_dims[product.batch_axes - 1] == 1) {
      --product.batch_axes;
      continue;
    }
    if (join_rows(product, order)) continue;
    product.transpose();
    const bool is_joined = join_rows(product, order);
    product.transpose();
    if (!is_joined) return;
  }
}

/// Whether all pieces of neighbours begin at multiples of their size.
bool are_aligned(DType dtype, const MatrixOperand& operand, MatrixAxis other,
                 std::uint64_t piece_elements) {
  const std::uint64_t size = element_size_bytes(dtype);
  const std::uint64_t piece = std::min<std::uint64_t>(16, piece_elements * size);
  bool result = reinterpret_cast<std::uintptr_t>(operand.address) % piece == 0;
  result = result && (other.size == 1 || other.stride * size % piece == 0);
  for (std::size_t axis = 0; axis < operand.batch_strides.size(); ++axis) {
    result = result && operand.batch_strides[axis] * size % piece == 0;
  }
  return result;
}

MatmulFactor make_factor(const MatrixProduct& product, const MatrixOperand& operand, MatrixAxis own,
                         MatrixAxis along_k) {
  MatmulFactor factor{};
  factor.size = own.size;
  factor.stride = own.stride;
  factor.k_stride = along_k.stride;
  const bool is_across = along_k.size > 1 ? along_k.stride == 1 : !has_neighbours(own);
  const bool is_whole = is_across || own.size % matmul_piece == 0;
  factor.is_across = is_across ? 1 : 0;
  factor.has_pieces =
      is_whole && are_aligned(product.dtype, operand, is_across ? own : along_k, matmul_piece) ? 1
                                                                                               : 0;
  return factor;
}

constexpr std::uint64_t unit_elements = 8;
constexpr std::uint64_t least_unit_side = 16;  // of an instruction

/// Whether matrix units have that type, and every line of both factors begins at a multiple of 16
/// bytes.
bool suits_units(const MatrixProduct& product, const Matmul& all) {
  if (product.dtype != DType::f16 && product.dtype != DType::bf16) return false;
  if (all.k == 0 || std::min(all.a.size, all.b.size) < least_unit_side) return false;
  return are_aligned(product.dtype, product.a,
                     all.a.is_across != 0 ? product.a.rows : product.a.columns, unit_elements) &&
         are_aligned(product.dtype, product.b,
                     all.b.is_across != 0 ? product.b.columns : product.b.rows, unit_elements);
}

/// Whether the kernel that knows no edges of pieces takes the product. AMD's GPUs have none.
bool suits_whole_pieces(const Backend& backend, const MatrixProduct& product, const Matmul& all) {
  return product.dtype == DType::f32 && backend.device().platform() != Platform::amd &&
         all.a.has_pieces != 0 && all.b.has_pieces != 0 && all.k > 0 &&
         all.k % MatmulTile<8>::depth == 0;
}

/// The batch axes alone.
Layout batch_layout(const MatrixProduct& product, const MatrixOperand& operand) {
  return Layout::strided(std::span(product.out.batch_dims).first(product.batch_axes),
                         std::span(operand.batch_strides).first(product.batch_axes));
}

Matmul make_arguments(const MatrixProduct& product, const SumOrder& order,
                      const MatmulOptions& options) {
  Matmul all{};
  all.a = make_factor(product, product.a, product.a.rows, product.a.columns);
  all.b = make_factor(product, product.b, product.b.columns, product.b.rows);
  all.k = product.a.columns.size;
  all.chunk = order.chunk;
  all.chunks = order.chunks;
  all.out_stride = product.out.rows.stride;
  all.out_column_stride = product.out.columns.stride;
  all.out_pieces = all.b.size % matmul_piece == 0 && all.out_column_stride == 1 &&
                           are_aligned(product.dtype, product.out, product.out.rows, matmul_piece)
                       ? 1
                       : 0;
  all.reads_out = options.beta != 0 ? 1 : 0;
  all.alpha = options.alpha;
  all.beta = options.beta;
  const std::array<Layout, 3> batches{batch_layout(product, product.a),
                                      batch_layout(product, product.b),
                                      batch_layout(product, product.out)};
  all.batches =
      make_operands<3>(std::array<const Layout*, 3>{&batches[0], &batches[1], &batches[2]}, 2);
  return all;
}

class ProductLaunch {
 public:
  ProductLaunch(const Backend& backend, const MatrixProduct& product, const Matmul& all)
      : backend_(backend), product_(product), all_(all) {
    config_.block.x = hiptool_ops::matmul_threads;
    if (all.chunks > 1) {
      partial_ = backend.empty(is_double() ? DType::f64 : DType::f32,
                               {all.chunks, all.batches.count, all.a.size, all.b.size});
    }
  }

  template <unsigned side>
  void multiply_tiles(const char* variant) {
    using Tile = MatmulTile<side>;
    all_.row_tiles = ceil_divide(all_.a.size, Tile::tile);
    all_.column_tiles = ceil_divide(all_.b.size, Tile::tile);
    config_.shared_bytes = Tile::numbers * number_bytes();
    multiply(kernel("ops_matmul", "hiptool_matmul_", variant), all_.row_tiles * all_.column_tiles);
  }

  /// Instructions of four warps take all operands that instructions of one warp take.
  void multiply_by_units(MatrixUnits units) {
    all_.row_tiles = ceil_divide(all_.a.size, hiptool_ops::matmul_unit_rows);
    all_.column_tiles = ceil_divide(all_.b.size, hiptool_ops::matmul_unit_columns);
    const std::uint64_t tiles = all_.row_tiles * all_.column_tiles;
    const std::string layout{all_.a.is_across != 0 ? 'n' : 't', all_.b.is_across != 0 ? 't' : 'n'};
    if (units == MatrixUnits::groups) {
      const auto of_groups = state_of(backend_).kernel_if_taken(
          "ops_matmul_groups", "hiptool_matmul_groups_" + type() + "_" + layout);
      if (of_groups) {
        // A block's next tile is copied while it stores results, so there are no more blocks than
        // multiprocessors, which have room for one each.
        config_.shared_bytes = hiptool_ops::matmul_group_shared_bytes;
        multiply(*of_groups, tiles, state_of(backend_).multiprocessors);
        return;
      }
    }
    const bool is_nvidia = backend_.device().platform() == Platform::nvidia;
    config_.shared_bytes =
        hiptool_ops::matmul_unit_piece_bytes *
        (is_nvidia ? hiptool_ops::matmul_unit_stages_nvidia : hiptool_ops::matmul_unit_stages);
    multiply(kernel("ops_matmul_tile", "hiptool_matmul_units_", layout), tiles);
  }

  void multiply_i8() {
    constexpr std::uint64_t tile = hiptool_ops::matmul_i8_tile;
    all_.row_tiles = ceil_divide(all_.a.size, tile);
    all_.column_tiles = ceil_divide(all_.b.size, tile);
    config_.shared_bytes = hiptool_ops::matmul_i8_shared_bytes;
    config_.grid.x = static_cast<std::uint32_t>(
        std::min(grid_most, all_.row_tiles * all_.column_tiles * all_.batches.count));
    launch(state_of(backend_).kernel("ops_matmul_i8", "hiptool_matmul_i8"), config_,
           backend_.stream(), all_, product_.a.address, product_.b.address, product_.out.address);
  }

  void multiply_vectors() {
    constexpr std::uint32_t lane_pitch = hiptool_ops::matmul_rows + 1;
    all_.row_tiles = ceil_divide(all_.a.size, hiptool_ops::matmul_rows);
    config_.shared_bytes = hiptool_ops::matmul_lanes * lane_pitch * number_bytes();
    multiply(kernel("ops_matmul_vectors", "hiptool_matmul_vectors_", all_.b.size == 1 ? "1" : "8"),
             all_.row_tiles);
  }

 private:
  bool is_double() const { return product_.dtype == DType::f64; }
  std::uint32_t number_bytes() const { return is_double() ? 8 : 4; }
  std::string type() const { return std::string(to_string(product_.dtype)); }

  Kernel kernel(const char* source, const char* name, const std::string& variant) const {
    return state_of(backend_).kernel(source, name + type() + "_" + variant);
  }

  void multiply(const Kernel& kernel, std::uint64_t blocks, std::uint64_t most = grid_most) {
    config_.grid.x = static_cast<std::uint32_t>(
        std::min({grid_most, most, blocks * all_.chunks * all_.batches.count}));
    void* const partial = partial_ ? partial_->address() : nullptr;
    launch(kernel, config_, backend_.stream(), all_, product_.a.address, product_.b.address,
           product_.out.address, partial);
    if (!partial_) return;
    launch_elements(
        backend_, state_of(backend_).kernel("ops_matmul_vectors", "hiptool_matmul_join_" + type()),
        all_.batches.count * all_.a.size * all_.b.size, 1, all_, product_.out.address, partial);
  }

  static constexpr std::uint64_t grid_most = 0x7FFFFFFF;
  const Backend& backend_;
  const MatrixProduct& product_;
  Matmul all_;
  LaunchConfig config_;
  std::optional<Tensor> partial_;
};

void set_to_nothing(MatrixOperand& operand, const MatrixOperand& out) {
  operand.address = out.address;
  operand.rows.stride = operand.columns.stride = 0;
  operand.batch_strides.fill(0);
}

}  // namespace

MatrixAxis matrix_axis(const Tensor& tensor, std::size_t from_last) {
  const std::size_t axis = tensor.layout().rank() - 1 - from_last;
  return {tensor.dims()[axis], tensor.layout().strides()[axis]};
}

MatrixOperand::MatrixOperand(const Tensor& tensor)
    : rows(matrix_axis(tensor, 1)), columns(matrix_axis(tensor, 0)), address(tensor.address()) {
  for (std::size_t axis = 0; axis + 2 < tensor.layout().rank(); ++axis) {
    batch_dims[axis] = tensor.dims()[axis];
    batch_strides[axis] = tensor.dims()[axis] == 1 ? 0 : tensor.layout().strides()[axis];
  }
}

bool has_unit_lines(const Tensor& tensor) {
  const MatrixOperand operand(tensor);
  const bool has_rows = operand.columns.stride == 1;
  if (!has_rows && operand.rows.stride != 1) return false;
  return are_aligned(tensor.dtype(), operand, has_rows ? operand.rows : operand.columns,
                     unit_elements);
}

void MatrixProduct::transpose() {
  std::swap(a, b);
  a.transpose();
  b.transpose();
  out.transpose();
}

void launch_i32_product(const Backend& backend, MatrixProduct product) {
  const std::uint64_t k = product.a.columns.size;
  if (k == 0) {
    set_to_nothing(product.a, product.out);
    set_to_nothing(product.b, product.out);
  }
  const SumOrder order{false, k, 1};
  ProductLaunch(backend, product, make_arguments(product, order, {})).multiply_i8();
}

void launch_product(const Backend& backend, MatrixProduct product, const MatmulOptions& options,
                    MatrixUnits units) {
  if (options.alpha == 0 || product.a.columns.size == 0) {
    // Kernels compute places from the addresses of operands that they do not read.
    set_to_nothing(product.a, product.out);
    set_to_nothing(product.b, product.out);
    product.a.columns.size = product.b.rows.size = 0;
  }
  const SumOrder order = order_of(product);
  if (!has_neighbours(product.out.columns)) product.transpose();
  join_batches(product, order);
  // Of joined columns that were one each the rows are neighbours.
  if (!has_neighbours(product.out.columns)) product.transpose();
  if (order.is_of_vectors) {
    if (product.b.columns.size > product.a.rows.size) product.transpose();
    ProductLaunch(backend, product, make_arguments(product, order, options)).multiply_vectors();
    return;
  }
  const Matmul all = make_arguments(product, order, options);
  ProductLaunch launch(backend, product, all);
  if (units != MatrixUnits::none && !options.exact && suits_units(product, all)) {
    launch.multiply_by_units(units);
    return;
  }
  constexpr std::uint64_t large = MatmulTile<8>::tile;
  const std::uint64_t tiles = ceil_divide(all.a.size, large) * ceil_divide(all.b.size, large) *
                              all.batches.count * all.chunks;
  // Fewer large tiles do not fill a GPU.
  const std::uint64_t many_tiles = backend.device().is_host_memory() ? 1 : 128;
  const bool is_small = std::min(all.a.size, all.b.size) <= MatmulTile<4>::tile;
  if (product.dtype == DType::f64 || is_small || tiles < many_tiles) {
    launch.multiply_tiles<4>("4");
  } else {
    launch.multiply_tiles<8>(suits_whole_pieces(backend, product, all) ? "whole" : "8");
  }
}

}  // namespace hiptool::ops
