// SPDX-License-Identifier: MIT
/// Our declarations of hipBLASLt against the vendor's headers.
// Ours come first: the vendor's header of HIP turns names into macros.
#include "hip/amd/hipblaslt.hpp"
#include "hip/lt_blas.hpp"
#include "interop/blas_headers.hpp"

#include <hipblaslt/hipblaslt.h>

#include <cstddef>

using hiptool::test::check_blas_call;
using hiptool::test::check_blas_number;

namespace {

namespace ours = hiptool::hip::amd;

constexpr void check_hipblaslt_numbers() {
  check_blas_number<ours::HIPBLAS_STATUS_SUCCESS, ::HIPBLAS_STATUS_SUCCESS>();
  check_blas_number<ours::HIPBLAS_STATUS_NOT_INITIALIZED, ::HIPBLAS_STATUS_NOT_INITIALIZED>();
  check_blas_number<ours::HIPBLAS_STATUS_ALLOC_FAILED, ::HIPBLAS_STATUS_ALLOC_FAILED>();
  check_blas_number<ours::HIPBLAS_STATUS_INVALID_VALUE, ::HIPBLAS_STATUS_INVALID_VALUE>();
  check_blas_number<ours::HIPBLAS_STATUS_MAPPING_ERROR, ::HIPBLAS_STATUS_MAPPING_ERROR>();
  check_blas_number<ours::HIPBLAS_STATUS_EXECUTION_FAILED, ::HIPBLAS_STATUS_EXECUTION_FAILED>();
  check_blas_number<ours::HIPBLAS_STATUS_INTERNAL_ERROR, ::HIPBLAS_STATUS_INTERNAL_ERROR>();
  check_blas_number<ours::HIPBLAS_STATUS_NOT_SUPPORTED, ::HIPBLAS_STATUS_NOT_SUPPORTED>();
  check_blas_number<ours::HIPBLAS_STATUS_ARCH_MISMATCH, ::HIPBLAS_STATUS_ARCH_MISMATCH>();
  check_blas_number<ours::HIPBLAS_STATUS_HANDLE_IS_NULLPTR, ::HIPBLAS_STATUS_HANDLE_IS_NULLPTR>();
  check_blas_number<ours::HIPBLAS_STATUS_INVALID_ENUM, ::HIPBLAS_STATUS_INVALID_ENUM>();
  check_blas_number<ours::HIPBLAS_STATUS_UNKNOWN, ::HIPBLAS_STATUS_UNKNOWN>();
  check_blas_number<ours::HIPBLAS_OP_N, ::HIPBLAS_OP_N>();
  check_blas_number<ours::HIPBLAS_OP_T, ::HIPBLAS_OP_T>();
  check_blas_number<ours::HIPBLAS_COMPUTE_16F, ::HIPBLAS_COMPUTE_16F>();
  check_blas_number<ours::HIPBLAS_COMPUTE_32F, ::HIPBLAS_COMPUTE_32F>();
  check_blas_number<ours::HIPBLAS_COMPUTE_32F_FAST_TF32, ::HIPBLAS_COMPUTE_32F_FAST_TF32>();
  check_blas_number<ours::HIPBLAS_COMPUTE_64F, ::HIPBLAS_COMPUTE_64F>();
  check_blas_number<ours::HIPBLAS_COMPUTE_32I, ::HIPBLAS_COMPUTE_32I>();
  check_blas_number<ours::HIP_R_32F, ::HIP_R_32F>();
  check_blas_number<ours::HIP_R_64F, ::HIP_R_64F>();
  check_blas_number<ours::HIP_R_16F, ::HIP_R_16F>();
  check_blas_number<ours::HIP_R_8I, ::HIP_R_8I>();
  check_blas_number<ours::HIP_R_32I, ::HIP_R_32I>();
  check_blas_number<ours::HIP_R_16BF, ::HIP_R_16BF>();
  check_blas_number<ours::HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                    ::HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT>();
  check_blas_number<ours::HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                    ::HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET>();
  check_blas_number<ours::HIPBLASLT_MATMUL_DESC_TRANSA, ::HIPBLASLT_MATMUL_DESC_TRANSA>();
  check_blas_number<ours::HIPBLASLT_MATMUL_DESC_TRANSB, ::HIPBLASLT_MATMUL_DESC_TRANSB>();
  check_blas_number<ours::HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                    ::HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES>();
}

constexpr void check_lt_calls() {
  using Ours = hiptool::hip::LtCalls;
  check_blas_call<decltype(Ours::Create), decltype(&::hipblasLtCreate)>();
  check_blas_call<decltype(Ours::Destroy), decltype(&::hipblasLtDestroy)>();
  check_blas_call<decltype(Ours::MatmulDescCreate), decltype(&::hipblasLtMatmulDescCreate)>();
  check_blas_call<decltype(Ours::MatmulDescDestroy), decltype(&::hipblasLtMatmulDescDestroy)>();
  check_blas_call<decltype(Ours::MatmulDescSetAttribute),
                  decltype(&::hipblasLtMatmulDescSetAttribute)>();
  check_blas_call<decltype(Ours::MatrixLayoutCreate), decltype(&::hipblasLtMatrixLayoutCreate)>();
  check_blas_call<decltype(Ours::MatrixLayoutDestroy), decltype(&::hipblasLtMatrixLayoutDestroy)>();
  check_blas_call<decltype(Ours::MatrixLayoutSetAttribute),
                  decltype(&::hipblasLtMatrixLayoutSetAttribute)>();
  check_blas_call<decltype(Ours::MatmulPreferenceCreate),
                  decltype(&::hipblasLtMatmulPreferenceCreate)>();
  check_blas_call<decltype(Ours::MatmulPreferenceDestroy),
                  decltype(&::hipblasLtMatmulPreferenceDestroy)>();
  check_blas_call<decltype(Ours::MatmulPreferenceSetAttribute),
                  decltype(&::hipblasLtMatmulPreferenceSetAttribute)>();
  check_blas_call<decltype(Ours::MatmulAlgoGetHeuristic),
                  decltype(&::hipblasLtMatmulAlgoGetHeuristic)>();
  check_blas_call<decltype(Ours::Matmul), decltype(&::hipblasLtMatmul)>();
}

using HipblasLtResult = hipblasLtMatmulHeuristicResult_t;
static_assert(offsetof(HipblasLtResult, algo) == 0);
static_assert(offsetof(HipblasLtResult, workspaceSize) == ours::hipblaslt_result_workspace_at);
static_assert(offsetof(HipblasLtResult, state) == ours::hipblaslt_result_state_at);
static_assert(sizeof(HipblasLtResult) == ours::hipblaslt_result_bytes);

}  // namespace

int main() {
  check_hipblaslt_numbers();
  check_lt_calls();
  check_blas_call<ours::HipblasltGetVersion, decltype(&::hipblasLtGetVersion)>();
}
