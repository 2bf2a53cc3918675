// SPDX-License-Identifier: MIT
/// Our declarations of rocBLAS against the vendor's headers.
#include <rocblas/rocblas.h>

#include "hip/amd/rocblas.hpp"
#include "interop/blas_headers.hpp"

using hiptool::test::check_blas_call;
using hiptool::test::check_blas_number;

namespace {

namespace ours = hiptool::hip::amd;

constexpr void check_rocblas_numbers() {
  check_blas_number<ours::rocblas_status_success, ::rocblas_status_success>();
  check_blas_number<ours::rocblas_status_not_implemented, ::rocblas_status_not_implemented>();
  check_blas_number<ours::rocblas_status_size_query_mismatch,
                    ::rocblas_status_size_query_mismatch>();
  check_blas_number<ours::rocblas_status_continue, ::rocblas_status_continue>();
  check_blas_number<ours::rocblas_operation_none, ::rocblas_operation_none>();
  check_blas_number<ours::rocblas_operation_transpose, ::rocblas_operation_transpose>();
  check_blas_number<ours::rocblas_datatype_f16_r, ::rocblas_datatype_f16_r>();
  check_blas_number<ours::rocblas_datatype_f32_r, ::rocblas_datatype_f32_r>();
  check_blas_number<ours::rocblas_datatype_f64_r, ::rocblas_datatype_f64_r>();
  check_blas_number<ours::rocblas_datatype_i8_r, ::rocblas_datatype_i8_r>();
  check_blas_number<ours::rocblas_datatype_i32_r, ::rocblas_datatype_i32_r>();
  check_blas_number<ours::rocblas_datatype_bf16_r, ::rocblas_datatype_bf16_r>();
  check_blas_number<ours::rocblas_pointer_mode_host, ::rocblas_pointer_mode_host>();
  check_blas_number<ours::rocblas_atomics_not_allowed, ::rocblas_atomics_not_allowed>();
  check_blas_number<ours::rocblas_gemm_algo_standard, ::rocblas_gemm_algo_standard>();
  check_blas_number<ours::rocblas_gemm_flags_none, ::rocblas_gemm_flags_none>();
}

constexpr void check_rocblas_calls() {
  check_blas_call<decltype(ours::RocblasCalls::rocblas_create_handle),
                  decltype(&::rocblas_create_handle)>();
  check_blas_call<decltype(ours::RocblasCalls::rocblas_destroy_handle),
                  decltype(&::rocblas_destroy_handle)>();
  check_blas_call<decltype(ours::RocblasCalls::rocblas_set_stream),
                  decltype(&::rocblas_set_stream)>();
  check_blas_call<decltype(ours::RocblasCalls::rocblas_set_pointer_mode),
                  decltype(&::rocblas_set_pointer_mode)>();
  check_blas_call<decltype(ours::RocblasCalls::rocblas_set_atomics_mode),
                  decltype(&::rocblas_set_atomics_mode)>();
  check_blas_call<decltype(ours::RocblasCalls::rocblas_get_version_string),
                  decltype(&::rocblas_get_version_string)>();
  check_blas_call<decltype(ours::RocblasCalls::rocblas_status_to_string),
                  decltype(&::rocblas_status_to_string)>();
  check_blas_call<decltype(ours::RocblasCalls::rocblas_gemm_strided_batched_ex),
                  decltype(&::rocblas_gemm_strided_batched_ex)>();
  check_blas_call<decltype(ours::RocblasCalls::rocblas_set_workspace),
                  decltype(&::rocblas_set_workspace)>();
#if ROCBLAS_VERSION_MAJOR >= 5
  check_blas_call<decltype(ours::RocblasCalls::rocblas_gemm_strided_batched_ex_64),
                  decltype(&::rocblas_gemm_strided_batched_ex_64)>();
#endif
}

}  // namespace

int main() {
  check_rocblas_numbers();
  check_rocblas_calls();
}
