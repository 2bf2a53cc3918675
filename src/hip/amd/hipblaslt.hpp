// SPDX-License-Identifier: MIT
/// The numbers of hipBLASLt from 0.7 (ROCm 6.1) to 1.2 (ROCm 7.2) (hipblaslt.h, hipblas-common.h).
#pragma once

namespace hiptool::hip::amd {

enum : int {
  HIPBLAS_STATUS_SUCCESS = 0,
  HIPBLAS_STATUS_NOT_INITIALIZED = 1,
  HIPBLAS_STATUS_ALLOC_FAILED = 2,
  HIPBLAS_STATUS_INVALID_VALUE = 3,
  HIPBLAS_STATUS_MAPPING_ERROR = 4,
  HIPBLAS_STATUS_EXECUTION_FAILED = 5,
  HIPBLAS_STATUS_INTERNAL_ERROR = 6,
  HIPBLAS_STATUS_NOT_SUPPORTED = 7,
  HIPBLAS_STATUS_ARCH_MISMATCH = 8,
  HIPBLAS_STATUS_HANDLE_IS_NULLPTR = 9,
  HIPBLAS_STATUS_INVALID_ENUM = 10,
  HIPBLAS_STATUS_UNKNOWN = 11,

  HIPBLAS_OP_N = 111,
  HIPBLAS_OP_T = 112,

  HIPBLAS_COMPUTE_16F = 0,
  HIPBLAS_COMPUTE_32F = 2,
  HIPBLAS_COMPUTE_32F_FAST_TF32 = 6,
  HIPBLAS_COMPUTE_64F = 7,
  HIPBLAS_COMPUTE_32I = 9,

  HIP_R_32F = 0,
  HIP_R_64F = 1,
  HIP_R_16F = 2,
  HIP_R_8I = 3,
  HIP_R_32I = 10,
  HIP_R_16BF = 14,

  HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 0,
  HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 1,
  HIPBLASLT_MATMUL_DESC_TRANSA = 0,
  HIPBLASLT_MATMUL_DESC_TRANSB = 1,
  HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,

  hipblaslt_result_workspace_at = 24,  ///< hipblasLtMatmulHeuristicResult_t
  hipblaslt_result_state_at = 32,
  hipblaslt_result_bytes = 56,
  hipblaslt_oldest_version = 700,  ///< 0.7.0; earlier ones number compute types from 300 on
};

using HipblasltGetVersion = int (*)(void* handle, int* version);

}  // namespace hiptool::hip::amd
