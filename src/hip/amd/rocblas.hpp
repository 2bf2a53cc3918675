// SPDX-License-Identifier: MIT
/// The calls and numbers of rocBLAS that are used, the same from ROCm 5.2 to 7.2 (rocblas-types.h,
/// rocblas-functions.h). An enumeration of C is an int in a call.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hip/abi.hpp"
#include "hip/call_table.hpp"

namespace hiptool::hip::amd {

using rocblas_handle = void*;
using rocblas_int = std::int32_t;
using rocblas_stride = std::int64_t;

enum : int {
  rocblas_status_success = 0,
  rocblas_status_not_implemented = 2,
  rocblas_status_size_query_mismatch = 8,
  rocblas_status_continue = 12,

  rocblas_operation_none = 111,
  rocblas_operation_transpose = 112,

  rocblas_datatype_f16_r = 150,
  rocblas_datatype_f32_r = 151,
  rocblas_datatype_f64_r = 152,
  rocblas_datatype_i8_r = 160,
  rocblas_datatype_i32_r = 162,
  rocblas_datatype_bf16_r = 168,

  rocblas_pointer_mode_host = 0,
  rocblas_atomics_not_allowed = 0,
  rocblas_gemm_algo_standard = 0,
  rocblas_gemm_flags_none = 0,
};

#define HIPTOOL_ROCBLAS_CALLS(CALL)                                                              \
  CALL(required, int, rocblas_create_handle, (rocblas_handle * handle))                          \
  CALL(required, int, rocblas_destroy_handle, (rocblas_handle handle))                           \
  CALL(required, int, rocblas_set_stream, (rocblas_handle handle, hipStream_t stream))           \
  CALL(required, int, rocblas_set_pointer_mode, (rocblas_handle handle, int mode))               \
  CALL(required, int, rocblas_set_atomics_mode, (rocblas_handle handle, int mode))               \
  CALL(required, int, rocblas_get_version_string, (char* text, std::size_t bytes))               \
  CALL(required, const char*, rocblas_status_to_string, (int status))                            \
  CALL(required, int, rocblas_gemm_strided_batched_ex,                                           \
       (rocblas_handle handle, int transpose_a, int transpose_b, rocblas_int m, rocblas_int n,   \
        rocblas_int k, const void* alpha, const void* a, int a_type, rocblas_int lda,            \
        rocblas_stride stride_a, const void* b, int b_type, rocblas_int ldb,                     \
        rocblas_stride stride_b, const void* beta, const void* c, int c_type, rocblas_int ldc,   \
        rocblas_stride stride_c, void* d, int d_type, rocblas_int ldd, rocblas_stride stride_d,  \
        rocblas_int batch_count, int compute_type, int algo, std::int32_t solution_index,        \
        std::uint32_t flags))                                                                    \
  CALL(optional, int, rocblas_set_workspace,                                                     \
       (rocblas_handle handle, void* memory, std::size_t bytes))                                 \
  CALL(optional, int, rocblas_gemm_strided_batched_ex_64,                                        \
       (rocblas_handle handle, int transpose_a, int transpose_b, std::int64_t m, std::int64_t n, \
        std::int64_t k, const void* alpha, const void* a, int a_type, std::int64_t lda,          \
        rocblas_stride stride_a, const void* b, int b_type, std::int64_t ldb,                    \
        rocblas_stride stride_b, const void* beta, const void* c, int c_type, std::int64_t ldc,  \
        rocblas_stride stride_c, void* d, int d_type, std::int64_t ldd, rocblas_stride stride_d, \
        std::int64_t batch_count, int compute_type, int algo, std::int32_t solution_index,       \
        std::uint32_t flags))
HIPTOOL_CALL_TABLE(RocblasCalls, HIPTOOL_ROCBLAS_CALLS);

}  // namespace hiptool::hip::amd
