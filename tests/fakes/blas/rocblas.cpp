// SPDX-License-Identifier: MIT
/// A fake librocblas.so.5.
#include <cstdio>
#include <cstdlib>

#include "fakes/blas/engine.hpp"
#include "hip/amd/rocblas.hpp"

using hiptool::hip::hipStream_t;
using namespace hiptool::hip::amd;  // the vendor's names, which this file is all about

namespace {

using hiptool::fake::Product;
using hiptool::hip::BlasCompute;
using hiptool::hip::BlasType;

hiptool::fake::Faults faults("ROCBLAS");

struct Handle {
  hipStream_t stream = nullptr;
};

BlasType type_of(int type) {
  switch (type) {
    case rocblas_datatype_f64_r: return BlasType::f64;
    case rocblas_datatype_f16_r: return BlasType::f16;
    case rocblas_datatype_bf16_r: return BlasType::bf16;
    case rocblas_datatype_i8_r: return BlasType::i8;
    case rocblas_datatype_i32_r: return BlasType::i32;
    default: return BlasType::f32;
  }
}

BlasCompute compute_of(int type) {
  switch (type) {
    case rocblas_datatype_f64_r: return BlasCompute::f64;
    case rocblas_datatype_f16_r: return BlasCompute::f16;
    case rocblas_datatype_i32_r: return BlasCompute::i32;
    default: return BlasCompute::f32;
  }
}

}  // namespace

extern "C" {

int hipblasLtCreate(void** handle);
/// Keeps the other fake among the libraries that this one needs.
int (*fake_rocblas_needs)(void** handle) = &hipblasLtCreate;

/// The value of ROCBLAS_USE_HIPBLASLT when the first handle was made, as the library reads it.
int fake_rocblas_backend = -1;
void* fake_rocblas_workspace = nullptr;

int rocblas_create_handle(rocblas_handle* handle) {
  const char* backend = std::getenv("ROCBLAS_USE_HIPBLASLT");
  if (fake_rocblas_backend < 0) fake_rocblas_backend = backend != nullptr ? std::atoi(backend) : 2;
  *handle = new Handle;
  return rocblas_status_success;
}
int rocblas_destroy_handle(rocblas_handle handle) {
  delete static_cast<Handle*>(handle);
  return rocblas_status_success;
}
int rocblas_set_stream(rocblas_handle handle, hipStream_t stream) {
  static_cast<Handle*>(handle)->stream = stream;
  return rocblas_status_success;
}
int rocblas_set_pointer_mode(rocblas_handle, int mode) { return mode; }
int rocblas_set_atomics_mode(rocblas_handle, int mode) { return mode; }
int rocblas_set_workspace(rocblas_handle, void* memory, std::size_t) {
  fake_rocblas_workspace = memory;
  return rocblas_status_success;
}
int rocblas_get_version_string(char* text, std::size_t bytes) {
  std::snprintf(text, bytes, "%d.1.0.fake", hiptool::fake::reported_major(5));
  return rocblas_status_success;
}
const char* rocblas_status_to_string(int status) {
  return status == 6 ? "rocblas_status_internal_error" : nullptr;
}

int rocblas_gemm_strided_batched_ex_64(rocblas_handle handle, int transpose_a, int transpose_b,
                                       std::int64_t m, std::int64_t n, std::int64_t k,
                                       const void* alpha, const void* a, int a_type,
                                       std::int64_t lda, rocblas_stride stride_a, const void* b,
                                       int b_type, std::int64_t ldb, rocblas_stride stride_b,
                                       const void* beta, const void*, int, std::int64_t,
                                       rocblas_stride, void* d, int d_type, std::int64_t ldd,
                                       rocblas_stride stride_d, std::int64_t batch_count,
                                       int compute_type, int, std::int32_t, std::uint32_t) {
  if (faults.enter()) return 6;
  if (compute_type == rocblas_datatype_i32_r && faults.is("no-i8")) {
    return rocblas_status_not_implemented;
  }
  const Product product{type_of(a_type),
                        type_of(b_type),
                        type_of(d_type),
                        compute_of(compute_type),
                        transpose_a == rocblas_operation_transpose,
                        transpose_b == rocblas_operation_transpose,
                        m,
                        n,
                        k,
                        a,
                        lda,
                        stride_a,
                        b,
                        ldb,
                        stride_b,
                        d,
                        ldd,
                        stride_d,
                        batch_count,
                        alpha,
                        beta};
  hiptool::fake::multiply(product, static_cast<Handle*>(handle)->stream, faults);
  return rocblas_status_success;
}

int rocblas_gemm_strided_batched_ex(
    rocblas_handle handle, int transpose_a, int transpose_b, rocblas_int m, rocblas_int n,
    rocblas_int k, const void* alpha, const void* a, int a_type, rocblas_int lda,
    rocblas_stride stride_a, const void* b, int b_type, rocblas_int ldb, rocblas_stride stride_b,
    const void* beta, const void* c, int c_type, rocblas_int ldc, rocblas_stride stride_c, void* d,
    int d_type, rocblas_int ldd, rocblas_stride stride_d, rocblas_int batch_count, int compute_type,
    int algo, std::int32_t solution, std::uint32_t flags) {
  return rocblas_gemm_strided_batched_ex_64(handle, transpose_a, transpose_b, m, n, k, alpha, a,
                                            a_type, lda, stride_a, b, b_type, ldb, stride_b, beta,
                                            c, c_type, ldc, stride_c, d, d_type, ldd, stride_d,
                                            batch_count, compute_type, algo, solution, flags);
}

}  // extern "C"
