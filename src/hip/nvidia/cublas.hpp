// SPDX-License-Identifier: MIT
/// The calls and numbers of cuBLAS 11 to 13 that are used (cublas_api.h, library_types.h), and the
/// numbers of cuBLASLt (cublasLt.h).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hip/abi.hpp"
#include "hip/blas.hpp"
#include "hip/call_table.hpp"

namespace hiptool::hip::nvidia {

using cublasHandle_t = void*;

enum : int {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
  CUBLAS_STATUS_LICENSE_ERROR = 16,

  CUBLAS_OP_N = 0,
  CUBLAS_OP_T = 1,
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_32I = 72,
  CUBLAS_GEMM_DEFAULT = -1,
  CUBLAS_DEFAULT_MATH = 0,
  CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16,

  CUDA_R_32F = 0,
  CUDA_R_64F = 1,
  CUDA_R_16F = 2,
  CUDA_R_8I = 3,
  CUDA_R_32I = 10,
  CUDA_R_16BF = 14,

  MAJOR_VERSION = 0,  ///< libraryPropertyType
  MINOR_VERSION = 1,
  PATCH_LEVEL = 2,

  CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,
  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6,
  CUBLASLT_MATMUL_DESC_TRANSA = 3,
  CUBLASLT_MATMUL_DESC_TRANSB = 4,
  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,
  CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK = 3,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5,
  CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE = 2,
  cublaslt_result_workspace_at = 64,  ///< cublasLtMatmulHeuristicResult_t
  cublaslt_result_state_at = 72,
  cublaslt_result_bytes = 96,
};

#define HIPTOOL_CUBLAS_CALLS(CALL)                                                                \
  CALL(required, int, cublasCreate_v2, (cublasHandle_t * handle))                                 \
  CALL(required, int, cublasDestroy_v2, (cublasHandle_t handle))                                  \
  CALL(required, int, cublasSetStream_v2, (cublasHandle_t handle, hipStream_t stream))            \
  CALL(required, int, cublasSetMathMode, (cublasHandle_t handle, int mode))                       \
  CALL(required, int, cublasSetWorkspace_v2,                                                      \
       (cublasHandle_t handle, void* memory, std::size_t bytes))                                  \
  CALL(required, int, cublasGetProperty, (int property, int* value))                              \
  CALL(required, int, cublasGemmStridedBatchedEx,                                                 \
       (cublasHandle_t handle, int transpose_a, int transpose_b, int m, int n, int k,             \
        const void* alpha, const void* a, int a_type, int lda, long long stride_a, const void* b, \
        int b_type, int ldb, long long stride_b, const void* beta, void* c, int c_type, int ldc,  \
        long long stride_c, int batch_count, int compute_type, int algo))                         \
  CALL(optional, int, cublasGemmStridedBatchedEx_64,                                              \
       (cublasHandle_t handle, int transpose_a, int transpose_b, std::int64_t m, std::int64_t n,  \
        std::int64_t k, const void* alpha, const void* a, int a_type, std::int64_t lda,           \
        long long stride_a, const void* b, int b_type, std::int64_t ldb, long long stride_b,      \
        const void* beta, void* c, int c_type, std::int64_t ldc, long long stride_c,              \
        std::int64_t batch_count, int compute_type, int algo))
HIPTOOL_CALL_TABLE(CublasCalls, HIPTOOL_CUBLAS_CALLS);

int cuda_data_type(BlasType type);
int cublas_compute(BlasCompute compute);

/// The status' name, and for the usual one without a driver what it means.
std::string cublas_status_text(int status);

/// Folders of the CUDA toolkit and of Python wheels: `before` the system's linker those next to a
/// mapped NVRTC, cuBLAS or CUDA runtime, `after` it the toolkit's and the active environment's.
struct CudaFolders {
  std::vector<std::string> before;
  std::vector<std::string> after;
};
CudaFolders list_cuda_folders();

}  // namespace hiptool::hip::nvidia
