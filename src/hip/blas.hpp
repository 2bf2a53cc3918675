// SPDX-License-Identifier: MIT
/// Vendors' matrix products as tables of their own: rocBLAS, hipBLASLt, cuBLAS, cuBLASLt and
/// OpenBLAS behind one call. A library is loaded at its first use and stays for the process.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hip/abi.hpp"
#include "hiptool/platform.hpp"

namespace hiptool::hip {

enum class BlasType { f64, f32, f16, bf16, i8, i32 };

/// f16 or bf16.
bool is_half(BlasType type);

std::string_view to_string(BlasType type) noexcept;
std::size_t size_of(BlasType type) noexcept;

/// What products are computed and summed in. TF32 and sums of halves in halves happen only where
/// f32_fast_tf32 or f16 is asked for.
enum class BlasCompute { f64, f32, f32_fast_tf32, f16, i32 };

std::string_view to_string(BlasCompute compute) noexcept;

/// C[i] = alpha op(A[i]) op(B[i]) + beta C[i] for row-major matrices: op(A) is m x k, op(B) k x n,
/// C m x n. A leading dimension is the distance of two rows, a stride the distance of two matrices
/// of the batch; both count elements. C is not read where beta is 0.
struct GemmCall {
  BlasType a_type = BlasType::f32;
  BlasType b_type = BlasType::f32;
  BlasType c_type = BlasType::f32;
  BlasCompute compute = BlasCompute::f32;
  bool transpose_a = false;  ///< A is stored as k x m
  bool transpose_b = false;  ///< B is stored as n x k
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t lda = 0;
  std::int64_t ldb = 0;
  std::int64_t ldc = 0;
  std::int64_t batch = 1;
  std::int64_t stride_a = 0;  ///< 0: the same matrix in the whole batch
  std::int64_t stride_b = 0;
  std::int64_t stride_c = 0;
  double alpha = 1;
  double beta = 0;
  const void* a = nullptr;  ///< device memory; host memory on the cpu platform
  const void* b = nullptr;
  void* c = nullptr;
  hipStream_t stream = nullptr;
  /// Device memory that the library may use until the stream has passed this call. Null: hipBLASLt
  /// and cuBLASLt use none; rocBLAS and cuBLAS use memory of their own (rocBLAS 32 MiB and more if
  /// a product needs it; cuBLAS 32 MiB from compute capability 9.0 on, 4 MiB before).
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

/// Results below zero are this program's, before the library was called; 0 is success; those above
/// are the library's own.
enum BlasRefusal : int {
  blas_invalid_call = -1,   ///< a size below 1, a leading dimension below the width of a row
  blas_too_large = -2,      ///< beyond 32 bits, and the library has no 64-bit call
  blas_types = -3,          ///< a combination of types that the library does not compute
  blas_no_algorithm = -4,   ///< the library names no algorithm within the workspace
  blas_other_backend = -5,  ///< rocBLAS runs with its other backend in this process
  blas_old_library = -6,    ///< the release has other numbers for types
  blas_alignment = -7,      ///< i8 whose lines do not begin at multiples of 4 bytes
  blas_no_device = -8,      ///< the runtime of AMD's libraries reports none
};

/// One library. Tables live to the end of the process and may be used by several threads; a handle
/// by one at a time.
class BlasApi {
 public:
  virtual ~BlasApi() = default;

  /// A handle for the calling thread's device; null in `handle` unless the result is 0. Blocks,
  /// with some libraries for seconds.
  virtual int open(void*& handle) const = 0;

  /// Queues the product on the call's stream. Empty products queue nothing. hipBLASLt and cuBLASLt:
  /// the algorithm is their first proposal, kept in the handle for types, shape and alignment.
  /// A product of i8 that the library does not have for this shape or device is blas_no_algorithm.
  virtual int gemm(void* handle, const GemmCall& call) const = 0;

  /// "rocblas_status_invalid_size (3)", or the reason of a refusal.
  virtual std::string error_text(int result) const = 0;

  virtual void close(void* handle) const noexcept = 0;
};

enum class BlasKind { rocblas_tensile, rocblas_hipblaslt, hipblaslt, cublas, cublaslt, openblas };

/// "rocblas", "rocblas-hipblaslt", "hipblaslt", "cublas", "cublaslt", "openblas".
std::string_view to_string(BlasKind kind) noexcept;

/// The libraries of a platform.
std::vector<BlasKind> list_blas(Platform platform);

/// A library, or the reason why it is missing.
struct BlasLibrary {
  std::string name;              ///< "rocBLAS", "cuBLASLt"
  std::string path;              ///< of the file; also of a refused library
  std::string version;           ///< "5.1.0"; empty if the library reports none
  std::string reason;            ///< why it is missing
  const BlasApi* api = nullptr;  ///< null without a library
  /// Targets ("gfx90a") that have kernels in the files next to the library; empty: unknown, or not
  /// AMD's.
  std::vector<std::string> targets;
};

/// Loads the library at the first call, which may take a second. Never throws for a missing one.
/// Safe to use from several threads.
///
/// The two of rocBLAS are one library with one of its two backends: it reads ROCBLAS_USE_HIPBLASLT
/// once per process. The first open() sets the variable; from then on open() of the other answers
/// blas_other_backend. To compare both use a process for each.
const BlasLibrary& find_blas(BlasKind kind);

namespace amd {
BlasLibrary open_rocblas(bool with_hipblaslt);
BlasLibrary open_hipblaslt();
}  // namespace amd
namespace nvidia {
BlasLibrary open_cublas();
BlasLibrary open_cublaslt();
}  // namespace nvidia
namespace cpu {
/// f32 and f64. The product runs in the order of the stream, at once without a stream, on as many
/// threads as this process has processors, or OPENBLAS_NUM_THREADS.
BlasLibrary open_openblas();
}  // namespace cpu

}  // namespace hiptool::hip
