// SPDX-License-Identifier: MIT
/// Products of tensors as the calls of a library.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "hip/blas.hpp"
#include "ops/matmul_launch.hpp"

namespace hiptool::ops {

/// Several calls that differ in the addresses only.
struct LibraryProduct {
  hip::GemmCall call;  ///< of the first matrices; without stream and workspace

  /// A batch axis that the call has no stride for; strides in bytes.
  struct Axis {
    std::uint64_t size;
    std::uint64_t a;
    std::uint64_t b;
    std::uint64_t out;
  };
  std::vector<Axis> axes;

  std::uint64_t call_count() const noexcept;
  hip::GemmCall call_at(std::uint64_t index) const noexcept;
};

hip::BlasType library_type(DType dtype) noexcept;
hip::BlasCompute library_compute(DType dtype, bool allows_tf32) noexcept;

/// Nothing where libraries do not read an operand as it is: rows that repeat or overlap.
std::optional<LibraryProduct> library_product(MatrixProduct product, const MatmulOptions& options);

}  // namespace hiptool::ops
