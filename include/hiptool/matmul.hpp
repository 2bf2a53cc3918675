// SPDX-License-Identifier: MIT
#pragma once
#include "hiptool/backend.hpp"
#include "hiptool/export.hpp"
#include "hiptool/libraries.hpp"
#include "hiptool/ops.hpp"
#include "hiptool/tensor.hpp"

/// Products of matrices. Conventions and errors as in hiptool/ops.hpp.
namespace hiptool::ops {

struct MatmulOptions {
  double alpha = 1;  ///< factor of the product; 0: the operands are not read
  double beta = 0;   ///< factor of the old output; 0: it is not read, so it may hold anything
  /// Error(unsupported) that names the layout, instead of copying an operand that the kernels
  /// cannot read where it is.
  bool no_copies = false;
  /// The same bits on every platform: no matrix units, whose order of summation is the vendor's.
  bool exact = false;
  /// Whether a vendor's library may compute; never with `exact`. Such a call may block for seconds
  /// the first time, while the library is loaded.
  Library library = Library::none;
  /// A library may round factors of f32 to TF32 (11 bits, NVIDIA's) if that is faster.
  bool allows_tf32 = false;
};

/// alpha a b + beta out, for f32, f64, f16 and bf16 (otherwise Error(unsupported), see matmul_i32
/// for i8); both operands
/// and the output have the same dtype. a is [batch.., m, k], b [batch.., k, n], the result
/// [batch.., m, n]. Ranks are equal and 2 or more; a batch dimension of 1 is repeated to match
/// the other operand. Other shapes are Error(invalid_argument). With k = 0 the sum is 0; without
/// results nothing is queued.
///
/// An operand is read where it is if one of its last two axes has stride 1 (or size 1), whatever
/// the other strides are: transposed, rows longer than the matrix, repeated. Any other layout is
/// copied first. The same holds for the output of matmul_into, which must not overlap an operand.
///
/// Sums are f64 for f64 and f32 otherwise, joined by fused multiply-add; factors are rounded to
/// that type, and the result once to the dtype; a result that is NaN is the canonical one. The
/// order of a sum depends only on the dtype and the shapes.
///
/// With Library::automatic bits and order are the library's, where one computes. Throws
/// Error(device) if a library fails while beta is not 0: the old output may be lost. Without that,
/// our kernels compute.
[[nodiscard]] HIPTOOL_API Tensor matmul(const Backend& backend, const Tensor& a, const Tensor& b,
                                        const MatmulOptions& options = {});
HIPTOOL_API void matmul_into(const Backend& backend, Tensor& out, const Tensor& a, const Tensor& b,
                             const MatmulOptions& options = {});

struct MatmulI32Options {
  /// A library gets the operands as they are; see below.
  bool no_copies = false;
  /// As in MatmulOptions.
  Library library = Library::none;
};

/// a b of i8, with results and sums of i32 that wrap: exact modulo 2^32, the same bits on every
/// platform and with every library. Sums of 131072 and more terms can leave 32 bits; those are not
/// for libraries. Shapes are as for matmul; other dtypes are Error(unsupported).
///
/// Our kernel reads operands of any layout where they are, and is not tuned: it has no matrix
/// units. For NVIDIA's and AMD's libraries an operand is copied first, unless `no_copies` is set or
/// it is used for less than 32 rows or columns, where its rows do not begin at multiples of 4 bytes
/// with neighbours along k: [.., m, k], or [.., k, n] stored as [.., n, k]. OpenBLAS has no such
/// product. Calls count as "matmul" in library_status().
[[nodiscard]] HIPTOOL_API Tensor matmul_i32(const Backend& backend, const Tensor& a,
                                            const Tensor& b, const MatmulI32Options& options = {});
/// `out` must not overlap an operand.
HIPTOOL_API void matmul_i32_into(const Backend& backend, Tensor& out, const Tensor& a,
                                 const Tensor& b, const MatmulI32Options& options = {});

/// (silu(x gate) * (x up)) down, of x [.., m, k], gate and up [k, h] and down [h, n]; the dtypes
/// are as for matmul, and all are the same. The products and the activation are rounded to the
/// dtype. Throws Error(invalid_argument) that names the operand which does not fit.
[[nodiscard]] HIPTOOL_API Tensor mlp_swiglu(const Backend& backend, const Tensor& x,
                                            const Tensor& gate_weights, const Tensor& up_weights,
                                            const Tensor& down_weights,
                                            const MatmulOptions& options = {});
HIPTOOL_API void mlp_swiglu_into(const Backend& backend, Tensor& out, const Tensor& x,
                                 const Tensor& gate_weights, const Tensor& up_weights,
                                 const Tensor& down_weights, const MatmulOptions& options = {});

/// alpha x + y of any dtype, with alpha in that dtype. The product is rounded to the dtype first
/// (of halves and f8e4m3 too, although they are computed in f32), then the sum; no fused
/// multiply-add. `out` may be x or y.
[[nodiscard]] HIPTOOL_API Tensor axpy(const Backend& backend, Scalar alpha, const Tensor& x,
                                      const Tensor& y);
HIPTOOL_API void axpy_into(const Backend& backend, Tensor& out, Scalar alpha, const Tensor& x,
                           const Tensor& y);

/// x becomes alpha x.
HIPTOOL_API void scal(const Backend& backend, Tensor& x, Scalar alpha);

}  // namespace hiptool::ops
