// SPDX-License-Identifier: MIT
/// What the libraries' matrix products have in common.
#pragma once
#include <cstdint>
#include <string>

#include "hip/blas.hpp"

namespace hiptool::hip {

/// The product as libraries with column-major matrices compute it: the rows of C are the columns of
/// its transpose, which is op(B)' op(A)'.
struct ColumnMajorGemm {
  bool transpose_first;
  bool transpose_second;
  std::int64_t m;  ///< rows of the transposed C
  std::int64_t n;
  std::int64_t k;
  const void* first;
  const void* second;
  BlasType first_type;
  BlasType second_type;
  std::int64_t first_ld;
  std::int64_t second_ld;
  std::int64_t first_stride;
  std::int64_t second_stride;
};

ColumnMajorGemm to_column_major(const GemmCall& call);

/// Whether there is nothing to compute, which is not an error.
bool is_empty(const GemmCall& call);

/// 0, blas_invalid_call, or blas_types for a combination that no library has.
int check_gemm(const GemmCall& call);

/// Whether sizes, leading dimensions and batch fit calls with 32-bit numbers.
bool fits_32_bits(const GemmCall& call);

/// Whether operands and their rows begin at multiples of 4 bytes, as cuBLAS demands of i8 (NVIDIA's
/// documentation of cublasGemmEx).
bool has_i8_alignment(const GemmCall& call);

/// alpha or beta in the type of the computation, which libraries read through a pointer.
class GemmScalar {
 public:
  GemmScalar(double value, BlasCompute compute);
  const void* pointer() const noexcept { return &bits_; }

 private:
  alignas(8) unsigned char bits_[8] = {};
};

/// The type of alpha and beta.
BlasType scalar_type(BlasCompute compute);

/// The reason of a refusal; empty for other results.
std::string refusal_text(int result, const std::string& library);

}  // namespace hiptool::hip
