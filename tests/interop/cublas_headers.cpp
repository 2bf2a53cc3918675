// SPDX-License-Identifier: MIT
/// Our declarations of cuBLAS and cuBLASLt against the vendor's headers.
#include <cublasLt.h>
#include <cublas_v2.h>

#include <cstddef>

#include "hip/lt_blas.hpp"
#include "hip/nvidia/cublas.hpp"
#include "interop/blas_headers.hpp"

using hiptool::test::check_blas_call;
using hiptool::test::check_blas_number;

namespace {

namespace ours = hiptool::hip::nvidia;

// In C++ the name has an overload for the type of the computation as it was before CUDA 11.
using TheirGemm = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                     int, const void*, const void*, cudaDataType, int, long long,
                                     const void*, cudaDataType, int, long long, const void*, void*,
                                     cudaDataType, int, long long, int, cublasComputeType_t,
                                     cublasGemmAlgo_t);

constexpr void check_cublas_numbers() {
  check_blas_number<ours::CUBLAS_STATUS_SUCCESS, ::CUBLAS_STATUS_SUCCESS>();
  check_blas_number<ours::CUBLAS_STATUS_NOT_INITIALIZED, ::CUBLAS_STATUS_NOT_INITIALIZED>();
  check_blas_number<ours::CUBLAS_STATUS_ALLOC_FAILED, ::CUBLAS_STATUS_ALLOC_FAILED>();
  check_blas_number<ours::CUBLAS_STATUS_INVALID_VALUE, ::CUBLAS_STATUS_INVALID_VALUE>();
  check_blas_number<ours::CUBLAS_STATUS_ARCH_MISMATCH, ::CUBLAS_STATUS_ARCH_MISMATCH>();
  check_blas_number<ours::CUBLAS_STATUS_MAPPING_ERROR, ::CUBLAS_STATUS_MAPPING_ERROR>();
  check_blas_number<ours::CUBLAS_STATUS_EXECUTION_FAILED, ::CUBLAS_STATUS_EXECUTION_FAILED>();
  check_blas_number<ours::CUBLAS_STATUS_INTERNAL_ERROR, ::CUBLAS_STATUS_INTERNAL_ERROR>();
  check_blas_number<ours::CUBLAS_STATUS_NOT_SUPPORTED, ::CUBLAS_STATUS_NOT_SUPPORTED>();
  check_blas_number<ours::CUBLAS_STATUS_LICENSE_ERROR, ::CUBLAS_STATUS_LICENSE_ERROR>();
  check_blas_number<ours::CUBLAS_OP_N, ::CUBLAS_OP_N>();
  check_blas_number<ours::CUBLAS_OP_T, ::CUBLAS_OP_T>();
  check_blas_number<ours::CUBLAS_COMPUTE_16F, ::CUBLAS_COMPUTE_16F>();
  check_blas_number<ours::CUBLAS_COMPUTE_32F, ::CUBLAS_COMPUTE_32F>();
  check_blas_number<ours::CUBLAS_COMPUTE_32F_FAST_TF32, ::CUBLAS_COMPUTE_32F_FAST_TF32>();
  check_blas_number<ours::CUBLAS_COMPUTE_64F, ::CUBLAS_COMPUTE_64F>();
  check_blas_number<ours::CUBLAS_COMPUTE_32I, ::CUBLAS_COMPUTE_32I>();
  check_blas_number<ours::CUBLAS_GEMM_DEFAULT, ::CUBLAS_GEMM_DEFAULT>();
  check_blas_number<ours::CUBLAS_DEFAULT_MATH, ::CUBLAS_DEFAULT_MATH>();
  check_blas_number<ours::CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION,
                    ::CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION>();
  check_blas_number<ours::CUDA_R_32F, ::CUDA_R_32F>();
  check_blas_number<ours::CUDA_R_64F, ::CUDA_R_64F>();
  check_blas_number<ours::CUDA_R_16F, ::CUDA_R_16F>();
  check_blas_number<ours::CUDA_R_8I, ::CUDA_R_8I>();
  check_blas_number<ours::CUDA_R_32I, ::CUDA_R_32I>();
  check_blas_number<ours::CUDA_R_16BF, ::CUDA_R_16BF>();
  check_blas_number<ours::MAJOR_VERSION, ::MAJOR_VERSION>();
  check_blas_number<ours::MINOR_VERSION, ::MINOR_VERSION>();
  check_blas_number<ours::PATCH_LEVEL, ::PATCH_LEVEL>();
  check_blas_number<ours::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                    ::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT>();
  check_blas_number<ours::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                    ::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET>();
  check_blas_number<ours::CUBLASLT_MATMUL_DESC_TRANSA, ::CUBLASLT_MATMUL_DESC_TRANSA>();
  check_blas_number<ours::CUBLASLT_MATMUL_DESC_TRANSB, ::CUBLASLT_MATMUL_DESC_TRANSB>();
  check_blas_number<ours::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                    ::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES>();
  check_blas_number<ours::CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                    ::CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK>();
  check_blas_number<ours::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                    ::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES>();
  check_blas_number<ours::CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE,
                    ::CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE>();
}

constexpr void check_cublas_calls() {
  check_blas_call<decltype(ours::CublasCalls::cublasCreate_v2), decltype(&::cublasCreate_v2)>();
  check_blas_call<decltype(ours::CublasCalls::cublasDestroy_v2), decltype(&::cublasDestroy_v2)>();
  check_blas_call<decltype(ours::CublasCalls::cublasSetStream_v2),
                  decltype(&::cublasSetStream_v2)>();
  check_blas_call<decltype(ours::CublasCalls::cublasSetMathMode), decltype(&::cublasSetMathMode)>();
  check_blas_call<decltype(ours::CublasCalls::cublasSetWorkspace_v2),
                  decltype(&::cublasSetWorkspace_v2)>();
  check_blas_call<decltype(ours::CublasCalls::cublasGetProperty), decltype(&::cublasGetProperty)>();
  check_blas_call<decltype(ours::CublasCalls::cublasGemmStridedBatchedEx),
                  decltype(static_cast<TheirGemm>(&::cublasGemmStridedBatchedEx))>();
#if CUBLAS_VER_MAJOR >= 12
  check_blas_call<decltype(ours::CublasCalls::cublasGemmStridedBatchedEx_64),
                  decltype(&::cublasGemmStridedBatchedEx_64)>();
#endif
}

constexpr void check_lt_calls() {
  using Ours = hiptool::hip::LtCalls;
  check_blas_call<decltype(Ours::Create), decltype(&::cublasLtCreate)>();
  check_blas_call<decltype(Ours::Destroy), decltype(&::cublasLtDestroy)>();
  check_blas_call<decltype(Ours::MatmulDescCreate), decltype(&::cublasLtMatmulDescCreate)>();
  check_blas_call<decltype(Ours::MatmulDescDestroy), decltype(&::cublasLtMatmulDescDestroy)>();
  check_blas_call<decltype(Ours::MatmulDescSetAttribute),
                  decltype(&::cublasLtMatmulDescSetAttribute)>();
  check_blas_call<decltype(Ours::MatrixLayoutCreate), decltype(&::cublasLtMatrixLayoutCreate)>();
  check_blas_call<decltype(Ours::MatrixLayoutDestroy), decltype(&::cublasLtMatrixLayoutDestroy)>();
  check_blas_call<decltype(Ours::MatrixLayoutSetAttribute),
                  decltype(&::cublasLtMatrixLayoutSetAttribute)>();
  check_blas_call<decltype(Ours::MatmulPreferenceCreate),
                  decltype(&::cublasLtMatmulPreferenceCreate)>();
  check_blas_call<decltype(Ours::MatmulPreferenceDestroy),
                  decltype(&::cublasLtMatmulPreferenceDestroy)>();
  check_blas_call<decltype(Ours::MatmulPreferenceSetAttribute),
                  decltype(&::cublasLtMatmulPreferenceSetAttribute)>();
  check_blas_call<decltype(Ours::MatmulAlgoGetHeuristic),
                  decltype(&::cublasLtMatmulAlgoGetHeuristic)>();
  check_blas_call<decltype(Ours::Matmul), decltype(&::cublasLtMatmul)>();
}

using CublasLtResult = cublasLtMatmulHeuristicResult_t;
static_assert(offsetof(CublasLtResult, algo) == 0);
static_assert(offsetof(CublasLtResult, workspaceSize) == ours::cublaslt_result_workspace_at);
static_assert(offsetof(CublasLtResult, state) == ours::cublaslt_result_state_at);
static_assert(sizeof(CublasLtResult) == ours::cublaslt_result_bytes);
// B, C and D follow A.
static_assert(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES ==
              CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES + 3);

}  // namespace

int main() {
  check_cublas_numbers();
  check_cublas_calls();
  check_lt_calls();
}
