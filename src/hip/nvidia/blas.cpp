// SPDX-License-Identifier: MIT
/// cuBLAS and cuBLASLt.
#include "hip/blas.hpp"

#include <memory>
#include <tuple>
#include <utility>

#include "hip/gemm_call.hpp"
#include "hip/keep_forever.hpp"
#include "hip/lt_blas.hpp"
#include "hip/nvidia/cublas.hpp"
#include "hip/side_calls.hpp"
#include "hip/side_library.hpp"

namespace hiptool::hip::nvidia {
namespace {

int cublas_transpose(bool is_transposed) { return is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N; }

struct CublasHandle {
  cublasHandle_t native = nullptr;
  bool is_prepared = false;
  hipStream_t stream = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

class CublasApi final : public BlasApi {
 public:
  explicit CublasApi(const CublasCalls& calls) : calls_(calls) {}

  int open(void*& handle) const override {
    handle = nullptr;
    auto opened = std::make_unique<CublasHandle>();
    int status = calls_.cublasCreate_v2(&opened->native);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    // TF32 is off in the default mode; joins of halves in halves are on.
    status = calls_.cublasSetMathMode(
        opened->native, CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
    if (status == CUBLAS_STATUS_SUCCESS) {
      handle = opened.release();
    } else {
      calls_.cublasDestroy_v2(opened->native);
    }
    return status;
  }

  int gemm(void* handle, const GemmCall& call) const override {
    if (const int refusal = check_gemm(call); refusal != 0) return refusal;
    if (is_empty(call)) return 0;
    const bool is_whole = call.compute == BlasCompute::i32;
    if (is_whole && !has_i8_alignment(call)) return blas_alignment;
    const bool is_long = !fits_32_bits(call);
    if (is_long && calls_.cublasGemmStridedBatchedEx_64 == nullptr) return blas_too_large;
    auto& opened = *static_cast<CublasHandle*>(handle);
    if (const int status = prepare(opened, call); status != CUBLAS_STATUS_SUCCESS) return status;
    const int status = is_long ? multiply(calls_.cublasGemmStridedBatchedEx_64, opened, call)
                               : multiply(calls_.cublasGemmStridedBatchedEx, opened, call);
    return is_whole && status == CUBLAS_STATUS_NOT_SUPPORTED ? blas_no_algorithm : status;
  }

  std::string error_text(int result) const override {
    if (result < 0) return refusal_text(result, "cuBLAS");
    return cublas_status_text(result);
  }

  void close(void* handle) const noexcept override {
    const std::unique_ptr<CublasHandle> opened(static_cast<CublasHandle*>(handle));
    if (opened) calls_.cublasDestroy_v2(opened->native);
  }

 private:
  int prepare(CublasHandle& opened, const GemmCall& call) const {
    const bool is_same = opened.is_prepared && opened.stream == call.stream &&
                         opened.workspace == call.workspace &&
                         opened.workspace_bytes == call.workspace_bytes;
    if (is_same) return CUBLAS_STATUS_SUCCESS;
    opened.is_prepared = false;
    // Setting the stream also returns to the library's own workspace.
    int status = calls_.cublasSetStream_v2(opened.native, call.stream);
    if (status == CUBLAS_STATUS_SUCCESS && call.workspace != nullptr) {
      status = calls_.cublasSetWorkspace_v2(opened.native, call.workspace, call.workspace_bytes);
    }
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    opened = {opened.native, true, call.stream, call.workspace, call.workspace_bytes};
    return status;
  }

  template <class... Arguments>
  static int multiply(int (*function)(cublasHandle_t, int, int, Arguments...),
                      const CublasHandle& opened, const GemmCall& call) {
    const ColumnMajorGemm gemm = to_column_major(call);
    const GemmScalar alpha(call.alpha, call.compute);
    const GemmScalar beta(call.beta, call.compute);
    // The numbers of the 32-bit call fit, which fits_32_bits has checked.
    using Size = std::tuple_element_t<0, std::tuple<Arguments...>>;
    const auto size = [](std::int64_t number) { return static_cast<Size>(number); };
    return function(
        opened.native, cublas_transpose(gemm.transpose_first),
        cublas_transpose(gemm.transpose_second), size(gemm.m), size(gemm.n), size(gemm.k),
        alpha.pointer(), gemm.first, cuda_data_type(gemm.first_type), size(gemm.first_ld),
        gemm.first_stride, gemm.second, cuda_data_type(gemm.second_type), size(gemm.second_ld),
        gemm.second_stride, beta.pointer(), call.c, cuda_data_type(call.c_type), size(call.ldc),
        call.stride_c, size(call.batch), cublas_compute(call.compute), CUBLAS_GEMM_DEFAULT);
  }

  const CublasCalls& calls_;
};

/// cublasGetProperty, cublasLtGetProperty: they need no device.
std::string read_cuda_version(int (*get_property)(int property, int* value)) {
  std::string version;
  for (const int property : {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL}) {
    int value = 0;
    if (get_property == nullptr || get_property(property, &value) != CUBLAS_STATUS_SUCCESS)
      return {};
    version += (version.empty() ? "" : ".") + std::to_string(value);
  }
  return version;
}

const std::vector<int> cublas_majors{13, 12, 11};

LibrarySearch cuda_search(const std::string& name, const std::string& soname) {
  CudaFolders folders = list_cuda_folders();
  LibrarySearch search;
  search.name = name;
  search.soname = soname;
  search.majors = cublas_majors;
  search.folders = std::move(folders.before);
  search.later_folders = std::move(folders.after);
  search.advice = "it is part of the CUDA toolkit and of the wheel nvidia-cublas";
  return search;
}

constexpr LtNumbers cublaslt_numbers() {
  return {CUBLAS_OP_N, CUBLAS_OP_T, CUBLASLT_MATMUL_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSB,
          CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
          CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
          // Not in the type of the output, as the one in place is: halves would be rounded before
          // they are joined.
          CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
          cublaslt_result_workspace_at, cublaslt_result_state_at, cublaslt_result_bytes,
          CUBLAS_STATUS_NOT_SUPPORTED, cuda_data_type, cublas_compute};
}

std::string cublas_status_name(int status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH: return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR: return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR: return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_LICENSE_ERROR: return "CUBLAS_STATUS_LICENSE_ERROR";
    default: return "unknown status";
  }
}

}  // namespace

int cuda_data_type(BlasType type) {
  switch (type) {
    case BlasType::f64: return CUDA_R_64F;
    case BlasType::f32: return CUDA_R_32F;
    case BlasType::f16: return CUDA_R_16F;
    case BlasType::bf16: return CUDA_R_16BF;
    case BlasType::i8: return CUDA_R_8I;
    case BlasType::i32: return CUDA_R_32I;
  }
  return -1;
}

int cublas_compute(BlasCompute compute) {
  switch (compute) {
    case BlasCompute::f64: return CUBLAS_COMPUTE_64F;
    case BlasCompute::f32: return CUBLAS_COMPUTE_32F;
    case BlasCompute::f32_fast_tf32: return CUBLAS_COMPUTE_32F_FAST_TF32;
    case BlasCompute::f16: return CUBLAS_COMPUTE_16F;
    case BlasCompute::i32: return CUBLAS_COMPUTE_32I;
  }
  return -1;
}

std::string cublas_status_text(int status) {
  const std::string text = cublas_status_name(status) + " (" + std::to_string(status) + ")";
  if (status != CUBLAS_STATUS_NOT_INITIALIZED) return text;
  return text + ": no usable NVIDIA driver or GPU, or not enough free memory on it";
}

BlasLibrary open_cublas() {
  BlasLibrary library;
  library.name = "cuBLAS";
  auto calls = std::make_unique<CublasCalls>();
  LibrarySearch search = cuda_search(library.name, "libcublas.so");
  search.refusal = [&](const base::DynamicLibrary& opened) {
    const std::string refusal = load_calls(opened, *calls);
    if (!refusal.empty()) return refusal;
    library.version = read_cuda_version(calls->cublasGetProperty);
    return refuse_version(library.version, cublas_majors);
  };
  const FoundLibrary found = search_library(search);
  library.path = found.path;
  library.reason = found.reason;
  if (found.library) {
    library.api = &keep_forever(std::make_unique<CublasApi>(keep_forever(std::move(calls))));
  }
  return library;
}

BlasLibrary open_cublaslt() {
  BlasLibrary library;
  library.name = "cuBLASLt";
  LtLibrary loaded;
  LibrarySearch search = cuda_search(library.name, "libcublasLt.so");
  search.refusal = [&](const base::DynamicLibrary& opened) {
    const std::string refusal = load_calls(opened, loaded.calls, "cublasLt");
    if (!refusal.empty()) return refusal;
    using GetProperty = int (*)(int property, int* value);
    library.version = read_cuda_version(opened.function<GetProperty>("cublasLtGetProperty"));
    return refuse_version(library.version, cublas_majors);
  };
  const FoundLibrary found = search_library(search);
  library.path = found.path;
  library.reason = found.reason;
  if (!found.library) return library;
  loaded.name = library.name;
  loaded.numbers = cublaslt_numbers();
  loaded.status_text = cublas_status_text;
  library.api = &keep_forever(make_lt_api(std::move(loaded)));
  return library;
}

}  // namespace hiptool::hip::nvidia
