// SPDX-License-Identifier: MIT
/// A fake libcublas.so.12. FAKE_CUBLAS_CREATE is the answer of its start: 1 is that of the real one
/// without a GPU.
#include "fakes/blas/cuda_types.hpp"
#include "fakes/blas/engine.hpp"
#include "fakes/common/settings.hpp"

using hiptool::hip::hipStream_t;
using namespace hiptool::hip::nvidia;  // the vendor's names, which this file is all about

namespace {

hiptool::fake::Faults faults("CUBLAS");

struct Handle {
  hipStream_t stream = nullptr;
  int math = 0;
  void* workspace = nullptr;
};

}  // namespace

extern "C" {

/// Of the last product.
int fake_cublas_math = -1;
void* fake_cublas_workspace = nullptr;

int cublasCreate_v2(cublasHandle_t* handle) {
  const int status = hiptool::fake::number_from("FAKE_CUBLAS_CREATE", CUBLAS_STATUS_SUCCESS);
  if (status == CUBLAS_STATUS_SUCCESS) *handle = new Handle;
  return status;
}
int cublasDestroy_v2(cublasHandle_t handle) {
  delete static_cast<Handle*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}
int cublasSetStream_v2(cublasHandle_t handle, hipStream_t stream) {
  auto& opened = *static_cast<Handle*>(handle);
  opened.stream = stream;
  opened.workspace = nullptr;  // as the real one does
  return CUBLAS_STATUS_SUCCESS;
}
int cublasSetMathMode(cublasHandle_t handle, int mode) {
  static_cast<Handle*>(handle)->math = mode;
  return CUBLAS_STATUS_SUCCESS;
}
int cublasSetWorkspace_v2(cublasHandle_t handle, void* memory, std::size_t) {
  static_cast<Handle*>(handle)->workspace = memory;
  return CUBLAS_STATUS_SUCCESS;
}
int cublasGetProperty(int property, int* value) {
  *value = property == MAJOR_VERSION ? hiptool::fake::reported_major(12) : property;
  return CUBLAS_STATUS_SUCCESS;
}

int cublasGemmStridedBatchedEx_64(cublasHandle_t handle, int transpose_a, int transpose_b,
                                  std::int64_t m, std::int64_t n, std::int64_t k, const void* alpha,
                                  const void* a, int a_type, std::int64_t lda, long long stride_a,
                                  const void* b, int b_type, std::int64_t ldb, long long stride_b,
                                  const void* beta, void* c, int c_type, std::int64_t ldc,
                                  long long stride_c, std::int64_t batch_count, int compute_type,
                                  int) {
  if (faults.enter()) return CUBLAS_STATUS_EXECUTION_FAILED;
  if (compute_type == CUBLAS_COMPUTE_32I) {
    if (faults.is("no-i8")) return CUBLAS_STATUS_NOT_SUPPORTED;
    // The real one demands this.
    const auto is_aligned = [](auto number) { return number % 4 == 0; };
    const bool is_valid = is_aligned(reinterpret_cast<std::uintptr_t>(a)) &&
                          is_aligned(reinterpret_cast<std::uintptr_t>(b)) && is_aligned(lda) &&
                          is_aligned(ldb);
    if (!is_valid) return CUBLAS_STATUS_EXECUTION_FAILED;
  }
  auto& opened = *static_cast<Handle*>(handle);
  fake_cublas_math = opened.math;
  fake_cublas_workspace = opened.workspace;
  using namespace hiptool::fake;
  multiply({cuda_type(a_type),
            cuda_type(b_type),
            cuda_type(c_type),
            cuda_compute(compute_type),
            transpose_a == CUBLAS_OP_T,
            transpose_b == CUBLAS_OP_T,
            m,
            n,
            k,
            a,
            lda,
            stride_a,
            b,
            ldb,
            stride_b,
            c,
            ldc,
            stride_c,
            batch_count,
            alpha,
            beta},
           opened.stream, faults);
  return CUBLAS_STATUS_SUCCESS;
}

int cublasGemmStridedBatchedEx(cublasHandle_t handle, int transpose_a, int transpose_b, int m,
                               int n, int k, const void* alpha, const void* a, int a_type, int lda,
                               long long stride_a, const void* b, int b_type, int ldb,
                               long long stride_b, const void* beta, void* c, int c_type, int ldc,
                               long long stride_c, int batch_count, int compute_type, int algo) {
  return cublasGemmStridedBatchedEx_64(handle, transpose_a, transpose_b, m, n, k, alpha, a, a_type,
                                       lda, stride_a, b, b_type, ldb, stride_b, beta, c, c_type,
                                       ldc, stride_c, batch_count, compute_type, algo);
}

}  // extern "C"
