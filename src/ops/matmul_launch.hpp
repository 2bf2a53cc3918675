// SPDX-License-Identifier: MIT
/// From the tensors of a matrix product to its kernels.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "hiptool/matmul.hpp"
#include "hiptool/platform.hpp"

namespace hiptool::ops {

/// Matrix instructions that there are kernels for.
enum class MatrixUnits {
  none,
  warps,   // of one warp: matmul_tile.hip
  groups,  // of four warps as well: matmul_groups.hip
};

/// Those of a device. NVIDIA's for a warp came with sm_80 (PTX ISA, mma); otherwise where the build
/// made an image, see kernels/meson.build.
MatrixUnits matrix_units_of(Platform platform, std::string_view arch);

/// Whether blocks may have 227 KiB of shared memory (CUDA C++ Programming Guide, technical
/// specifications per compute capability: 9.0 and 10.x).
bool has_large_blocks_of(Platform platform, std::string_view arch);

struct MatrixAxis {
  std::uint64_t size;
  std::uint64_t stride;
};

/// Stride 1, or nothing to stride over.
inline bool has_neighbours(MatrixAxis axis) { return axis.size == 1 || axis.stride == 1; }

/// The axis that is `from_last` axes before the last one.
MatrixAxis matrix_axis(const Tensor& tensor, std::size_t from_last);

/// One tensor of a product: both axes of its matrices, and the axes of the batch.
struct MatrixOperand {
  MatrixAxis rows;
  MatrixAxis columns;
  std::array<std::uint64_t, Layout::max_rank> batch_dims{};
  std::array<std::uint64_t, Layout::max_rank> batch_strides{};  // 0 where the dimension is 1
  void* address;

  explicit MatrixOperand(const Tensor& tensor);
  void transpose() { std::swap(rows, columns); }
};

struct MatrixProduct {
  MatrixOperand a;
  MatrixOperand b;
  MatrixOperand out;
  std::size_t batch_axes;
  DType dtype;                 ///< of the factors
  DType result_dtype = dtype;  ///< i32 of i8

  /// The transposed matrices: out' = b' a'.
  void transpose();
};

/// Queues the kernels of a product with results, whose shapes fit. One of the two axes of each
/// operand has neighbours. Matrix units are for operands of which they can read all lines.
void launch_product(const Backend& backend, MatrixProduct product, const MatmulOptions& options,
                    MatrixUnits units);

/// The same for i8, whose sums are i32. Any axes may have neighbours, or none.
void launch_i32_product(const Backend& backend, MatrixProduct product);

/// Whether every line of the matrices begins where matrix units can read it.
bool has_unit_lines(const Tensor& tensor);

/// What matmul_into does on a device that has those matrix units.
void multiply_tensors(const Backend& backend, const Tensor& a, const Tensor& b, Tensor& out,
                      const MatmulOptions& options, MatrixUnits units);

}  // namespace hiptool::ops
