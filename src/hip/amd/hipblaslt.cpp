// SPDX-License-Identifier: MIT
#include "hip/amd/hipblaslt.hpp"

#include "hip/amd/bound_runtime.hpp"
#include "hip/blas.hpp"
#include "hip/keep_forever.hpp"
#include "hip/lt_blas.hpp"
#include "hip/side_calls.hpp"
#include "hip/side_library.hpp"

namespace hiptool::hip::amd {
namespace {

int hip_data_type(BlasType type) {
  switch (type) {
    case BlasType::f64: return HIP_R_64F;
    case BlasType::f32: return HIP_R_32F;
    case BlasType::f16: return HIP_R_16F;
    case BlasType::bf16: return HIP_R_16BF;
    case BlasType::i8: return HIP_R_8I;
    case BlasType::i32: return HIP_R_32I;
  }
  return -1;
}

int hipblas_compute(BlasCompute compute) {
  switch (compute) {
    case BlasCompute::f64: return HIPBLAS_COMPUTE_64F;
    case BlasCompute::f32: return HIPBLAS_COMPUTE_32F;
    case BlasCompute::f32_fast_tf32: return HIPBLAS_COMPUTE_32F_FAST_TF32;
    case BlasCompute::f16: return HIPBLAS_COMPUTE_16F;
    case BlasCompute::i32: return HIPBLAS_COMPUTE_32I;
  }
  return -1;
}

std::string hipblas_status_name(int status) {
  switch (status) {
    case HIPBLAS_STATUS_SUCCESS: return "HIPBLAS_STATUS_SUCCESS";
    case HIPBLAS_STATUS_NOT_INITIALIZED: return "HIPBLAS_STATUS_NOT_INITIALIZED";
    case HIPBLAS_STATUS_ALLOC_FAILED: return "HIPBLAS_STATUS_ALLOC_FAILED";
    case HIPBLAS_STATUS_INVALID_VALUE: return "HIPBLAS_STATUS_INVALID_VALUE";
    case HIPBLAS_STATUS_MAPPING_ERROR: return "HIPBLAS_STATUS_MAPPING_ERROR";
    case HIPBLAS_STATUS_EXECUTION_FAILED: return "HIPBLAS_STATUS_EXECUTION_FAILED";
    case HIPBLAS_STATUS_INTERNAL_ERROR: return "HIPBLAS_STATUS_INTERNAL_ERROR";
    case HIPBLAS_STATUS_NOT_SUPPORTED: return "HIPBLAS_STATUS_NOT_SUPPORTED";
    case HIPBLAS_STATUS_ARCH_MISMATCH: return "HIPBLAS_STATUS_ARCH_MISMATCH";
    case HIPBLAS_STATUS_HANDLE_IS_NULLPTR: return "HIPBLAS_STATUS_HANDLE_IS_NULLPTR";
    case HIPBLAS_STATUS_INVALID_ENUM: return "HIPBLAS_STATUS_INVALID_ENUM";
    case HIPBLAS_STATUS_UNKNOWN: return "HIPBLAS_STATUS_UNKNOWN";
    default: return "unknown status";
  }
}

std::string hipblas_status_text(int status) {
  return hipblas_status_name(status) + " (" + std::to_string(status) + ")";
}

constexpr LtNumbers hipblaslt_numbers() {
  return {HIPBLAS_OP_N,
          HIPBLAS_OP_T,
          HIPBLASLT_MATMUL_DESC_TRANSA,
          HIPBLASLT_MATMUL_DESC_TRANSB,
          HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
          HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
          HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
          -1,
          0,
          -1,
          hipblaslt_result_workspace_at,
          hipblaslt_result_state_at,
          hipblaslt_result_bytes,
          HIPBLAS_STATUS_NOT_SUPPORTED,
          hip_data_type,
          hipblas_compute};
}

/// File names' numbers of the releases that use a major of the runtime.
std::vector<int> hipblaslt_majors(int runtime) {
  if (runtime >= 7) return {1};
  // Debian builds a 1 for the runtime 6 too.
  return runtime == 6 ? std::vector<int>{0, 1} : std::vector<int>{1, 0};
}

}  // namespace

BlasLibrary open_hipblaslt() {
  BlasLibrary library;
  library.name = "hipBLASLt";
  const auto runtime = find_runtime();
  if (!runtime) {
    library.reason = "no HIP runtime was found, so no hipBLASLt either";
    return library;
  }
  LtLibrary loaded;
  LibrarySearch search;
  search.name = library.name;
  search.soname = "libhipblaslt.so";
  search.majors = hipblaslt_majors(runtime_major(*runtime));
  search.folders = list_library_folders(*runtime);
  search.is_unversioned_taken = true;
  search.advice = "install the package hipblaslt of the runtime's release, " + runtime->path();
  HipblasltGetVersion get_version = nullptr;
  search.refusal = [&](const base::DynamicLibrary& opened) {
    std::string refusal = refuse_second_runtime(opened, *runtime);
    if (refusal.empty()) refusal = load_calls(opened, loaded.calls, "hipblasLt");
    get_version = opened.function<HipblasltGetVersion>("hipblasLtGetVersion");
    return refusal;
  };
  const FoundLibrary found = search_library(search);
  library.path = found.path;
  library.reason = found.reason;
  if (!found.library) return library;
  // The call that reports the version needs a device; a file's name in a wheel has none.
  library.version = version_in_name(library.path);
  library.targets = list_targets(library.path, "hipblaslt", "HIPBLASLT_TENSILE_LIBPATH");
  loaded.name = library.name;
  loaded.numbers = hipblaslt_numbers();
  loaded.status_text = hipblas_status_text;
  loaded.check_start = StartCheck(*runtime);
  loaded.check_handle = [get_version](void* handle) -> int {
    int version = 0;
    if (get_version == nullptr || get_version(handle, &version) != HIPBLAS_STATUS_SUCCESS) return 0;
    return version < hipblaslt_oldest_version ? blas_old_library : 0;
  };
  library.api = &keep_forever(make_lt_api(std::move(loaded)));
  return library;
}

}  // namespace hiptool::hip::amd
