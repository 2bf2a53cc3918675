// SPDX-License-Identifier: MIT
/// A fake libhipblaslt.so.1 or libcublasLt.so.12, whose calls differ in names and numbers. A
/// product needs 1024 bytes of workspace if k is a multiple of 1024.
#include <cstring>
#include <map>

#include "fakes/blas/cuda_types.hpp"
#include "fakes/blas/engine.hpp"
#include "hip/amd/hipblaslt.hpp"

using hiptool::hip::hipStream_t;

#ifdef FAKE_CUBLASLT
#define LT(name) cublasLt##name
using namespace hiptool::hip::nvidia;
#define FAKE_NAME "CUBLASLT"
enum : int {
  TRANSPOSED = CUBLAS_OP_T,
  DESC_TRANSA = CUBLASLT_MATMUL_DESC_TRANSA,
  DESC_TRANSB = CUBLASLT_MATMUL_DESC_TRANSB,
  BATCH_COUNT = CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
  BATCH_STRIDE = CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
  MAX_WORKSPACE = CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
  WORKSPACE_AT = cublaslt_result_workspace_at,
  STATE_AT = cublaslt_result_state_at,
  RESULT_BYTES = cublaslt_result_bytes,
  FAILED = CUBLAS_STATUS_EXECUTION_FAILED,
  NOT_SUPPORTED = CUBLAS_STATUS_NOT_SUPPORTED,
};
#else
#define LT(name) hipblasLt##name
using namespace hiptool::hip::amd;
#define FAKE_NAME "HIPBLASLT"
enum : int {
  TRANSPOSED = HIPBLAS_OP_T,
  DESC_TRANSA = HIPBLASLT_MATMUL_DESC_TRANSA,
  DESC_TRANSB = HIPBLASLT_MATMUL_DESC_TRANSB,
  BATCH_COUNT = HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
  BATCH_STRIDE = HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
  MAX_WORKSPACE = HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
  WORKSPACE_AT = hipblaslt_result_workspace_at,
  STATE_AT = hipblaslt_result_state_at,
  RESULT_BYTES = hipblaslt_result_bytes,
  FAILED = HIPBLAS_STATUS_EXECUTION_FAILED,
  NOT_SUPPORTED = HIPBLAS_STATUS_NOT_SUPPORTED,
};
#endif

namespace {

hiptool::fake::Faults faults(FAKE_NAME);

struct Desc {
  int compute = 0;
  bool transpose_a = false;
  bool transpose_b = false;
};

struct Layout {
  int type = 0;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::int64_t ld = 0;
  std::int32_t batch = 1;
  std::int64_t stride = 0;
};

using Preference = std::map<int, std::uint64_t>;

hiptool::hip::BlasCompute compute_of(int type) {
#ifdef FAKE_CUBLASLT
  return hiptool::fake::cuda_compute(type);
#else
  using hiptool::hip::BlasCompute;
  switch (type) {
    case HIPBLAS_COMPUTE_64F: return BlasCompute::f64;
    case HIPBLAS_COMPUTE_16F: return BlasCompute::f16;
    case HIPBLAS_COMPUTE_32I: return BlasCompute::i32;
    case HIPBLAS_COMPUTE_32F_FAST_TF32: return BlasCompute::f32_fast_tf32;
    default: return BlasCompute::f32;
  }
#endif
}

std::int64_t element_bytes(hiptool::hip::BlasType type) {
  using hiptool::hip::BlasType;
  switch (type) {
    case BlasType::f64: return 8;
    case BlasType::f32:
    case BlasType::i32: return 4;
    case BlasType::i8: return 1;
    default: return 2;
  }
}

/// Whether the first half of a long sum is put into the output, and the second added there, in its
/// type: what real ones do where the preference allows it.
bool joins_in_output([[maybe_unused]] const Preference& preference,
                     [[maybe_unused]] std::uint64_t k) {
#ifdef FAKE_CUBLASLT
  constexpr int reduction_schemes = 3;
  constexpr std::uint64_t all = 7;
  constexpr std::uint64_t in_output_type = 1 | 4;
  const auto found = preference.find(reduction_schemes);
  return k >= 1024 && ((found == preference.end() ? all : found->second) & in_output_type) != 0;
#else
  return false;
#endif
}

std::uint64_t needed_bytes(const Desc& desc, const Layout& a) {
  const std::uint64_t k = desc.transpose_a ? a.rows : a.columns;
  return k % 1024 == 0 ? 1024 : 0;
}

/// Of i8: cuBLASLt has products of a transposed first matrix, m and k multiples of 4, alone.
bool has_i8([[maybe_unused]] const Desc& desc, [[maybe_unused]] const Layout& a) {
  if (faults.is("no-i8")) return false;
#ifdef FAKE_CUBLASLT
  return desc.transpose_a && !desc.transpose_b && a.rows % 4 == 0 && a.columns % 4 == 0 &&
         a.ld % 4 == 0;
#else
  return true;
#endif
}

}  // namespace

extern "C" {

int LT(_fake_heuristics) = 0;
int LT(_fake_objects) = 0;  ///< descriptors, layouts and preferences that are alive

int LT(Create)(void** handle) {
  *handle = new int(0);
  return 0;
}
int LT(Destroy)(void* handle) {
  delete static_cast<int*>(handle);
  return 0;
}
#ifdef FAKE_CUBLASLT
int cublasLtGetProperty(int property, int* value) {
  *value = property == MAJOR_VERSION ? hiptool::fake::reported_major(12) : property;
  return 0;
}
#else
int hipblasLtGetVersion(void*, int* version) {
  *version = hiptool::fake::reported_major(1) * 100000 + 200;
  return 0;
}
#endif
int LT(MatmulDescCreate)(void** desc, int compute, int) {
  *desc = new Desc{compute};
  ++LT(_fake_objects);
  return 0;
}
int LT(MatmulDescDestroy)(void* desc) {
  delete static_cast<Desc*>(desc);
  --LT(_fake_objects);
  return 0;
}
int LT(MatmulDescSetAttribute)(void* desc, int attribute, const void* value, std::size_t bytes) {
  std::int32_t operation = 0;
  if (bytes != sizeof operation) return FAILED;
  std::memcpy(&operation, value, bytes);
  auto& of = *static_cast<Desc*>(desc);
  if (attribute == DESC_TRANSA) of.transpose_a = operation == TRANSPOSED;
  if (attribute == DESC_TRANSB) of.transpose_b = operation == TRANSPOSED;
  return 0;
}
int LT(MatrixLayoutCreate)(void** layout, int type, std::uint64_t rows, std::uint64_t columns,
                           std::int64_t ld) {
  if (ld < static_cast<std::int64_t>(rows)) return FAILED;
  *layout = new Layout{type, rows, columns, ld};
  ++LT(_fake_objects);
  return 0;
}
int LT(MatrixLayoutDestroy)(void* layout) {
  delete static_cast<Layout*>(layout);
  --LT(_fake_objects);
  return 0;
}
int LT(MatrixLayoutSetAttribute)(void* layout, int attribute, const void* value,
                                 std::size_t bytes) {
  auto& of = *static_cast<Layout*>(layout);
  if (attribute == BATCH_COUNT && bytes == sizeof of.batch) {
    std::memcpy(&of.batch, value, bytes);
  } else if (attribute == BATCH_STRIDE && bytes == sizeof of.stride) {
    std::memcpy(&of.stride, value, bytes);
  } else {
    return FAILED;
  }
  return 0;
}
int LT(MatmulPreferenceCreate)(void** preference) {
  *preference = new Preference;
  ++LT(_fake_objects);
  return 0;
}
int LT(MatmulPreferenceDestroy)(void* preference) {
  delete static_cast<Preference*>(preference);
  --LT(_fake_objects);
  return 0;
}
int LT(MatmulPreferenceSetAttribute)(void* preference, int attribute, const void* value,
                                     std::size_t bytes) {
  std::uint64_t number = 0;
  if (bytes > sizeof number) return FAILED;
  std::memcpy(&number, value, bytes);
  (*static_cast<Preference*>(preference))[attribute] = number;
  return 0;
}
int LT(MatmulAlgoGetHeuristic)(void*, void* desc, void* a, void*, void*, void*, void* preference,
                               int, void* results, int* returned) {
  ++LT(_fake_heuristics);
  if (compute_of(static_cast<Desc*>(desc)->compute) == hiptool::hip::BlasCompute::i32 &&
      !has_i8(*static_cast<Desc*>(desc), *static_cast<Layout*>(a))) {
    return NOT_SUPPORTED;
  }
  const std::uint64_t bytes = needed_bytes(*static_cast<Desc*>(desc), *static_cast<Layout*>(a));
  std::memset(results, 0, RESULT_BYTES);
  const auto& of = *static_cast<Desc*>(desc);
  const auto& first = *static_cast<Layout*>(a);
  const bool joins = joins_in_output(*static_cast<Preference*>(preference),
                                     of.transpose_a ? first.rows : first.columns);
  std::memcpy(results, &joins, sizeof joins);
  std::memcpy(static_cast<char*>(results) + WORKSPACE_AT, &bytes, sizeof bytes);
  *returned = (*static_cast<Preference*>(preference))[MAX_WORKSPACE] >= bytes ? 1 : 0;
  return 0;
}
int LT(Matmul)(void*, void* desc, const void* alpha, const void* a, void* a_layout, const void* b,
               void* b_layout, const void* beta, const void*, void*, void* d, void* d_layout,
               const void* algorithm, void*, std::size_t workspace_bytes, hipStream_t stream) {
  if (faults.enter()) return FAILED;
  const Desc& of = *static_cast<Desc*>(desc);
  const Layout& first = *static_cast<Layout*>(a_layout);
  const Layout& second = *static_cast<Layout*>(b_layout);
  const Layout& out = *static_cast<Layout*>(d_layout);
  if (workspace_bytes < needed_bytes(of, first)) return FAILED;
  const auto k = static_cast<std::int64_t>(of.transpose_a ? first.rows : first.columns);
  using namespace hiptool::fake;
  const auto add = [&](std::int64_t from, std::int64_t count, const void* scale) {
    const auto place = [&](const void* matrix, const Layout& layout, bool is_row) {
      const std::int64_t element = is_row ? from : from * layout.ld;
      return static_cast<const char*>(matrix) + element * element_bytes(cuda_type(layout.type));
    };
    multiply({cuda_type(first.type),
              cuda_type(second.type),
              cuda_type(out.type),
              compute_of(of.compute),
              of.transpose_a,
              of.transpose_b,
              static_cast<std::int64_t>(out.rows),
              static_cast<std::int64_t>(out.columns),
              count,
              place(a, first, of.transpose_a),
              first.ld,
              first.stride,
              place(b, second, !of.transpose_b),
              second.ld,
              second.stride,
              d,
              out.ld,
              out.stride,
              out.batch,
              alpha,
              scale},
             stream, faults);
  };
  bool joins = false;
  std::memcpy(&joins, algorithm, sizeof joins);
  add(0, joins ? k / 2 : k, beta);
  static const float one = 1;
  if (joins) add(k / 2, k - k / 2, &one);
  return 0;
}

}  // extern "C"
