// SPDX-License-Identifier: MIT
/// hipBLASLt and cuBLASLt, whose calls are the same under different names and numbers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "hip/blas.hpp"
#include "hip/call_table.hpp"

namespace hiptool::hip {

#define HIPTOOL_LT_CALLS(CALL)                                                                     \
  CALL(required, int, Create, (void** handle))                                                     \
  CALL(required, int, Destroy, (void* handle))                                                     \
  CALL(required, int, MatmulDescCreate, (void** desc, int compute, int scale_type))                \
  CALL(required, int, MatmulDescDestroy, (void* desc))                                             \
  CALL(required, int, MatmulDescSetAttribute,                                                      \
       (void* desc, int attribute, const void* value, std::size_t bytes))                          \
  CALL(required, int, MatrixLayoutCreate,                                                          \
       (void** layout, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t ld))      \
  CALL(required, int, MatrixLayoutDestroy, (void* layout))                                         \
  CALL(required, int, MatrixLayoutSetAttribute,                                                    \
       (void* layout, int attribute, const void* value, std::size_t bytes))                        \
  CALL(required, int, MatmulPreferenceCreate, (void** preference))                                 \
  CALL(required, int, MatmulPreferenceDestroy, (void* preference))                                 \
  CALL(required, int, MatmulPreferenceSetAttribute,                                                \
       (void* preference, int attribute, const void* value, std::size_t bytes))                    \
  CALL(required, int, MatmulAlgoGetHeuristic,                                                      \
       (void* handle, void* desc, void* a, void* b, void* c, void* d, void* preference,            \
        int requested, void* results, int* returned))                                              \
  CALL(required, int, Matmul,                                                                      \
       (void* handle, void* desc, const void* alpha, const void* a, void* a_layout, const void* b, \
        void* b_layout, const void* beta, const void* c, void* c_layout, void* d, void* d_layout,  \
        const void* algo, void* workspace, std::size_t workspace_bytes, hipStream_t stream))
/// Their names follow the prefix of the library: "cublasLtCreate".
HIPTOOL_CALL_TABLE(LtCalls, HIPTOOL_LT_CALLS);

/// What differs. A negative attribute is one that the library does not have.
struct LtNumbers {
  int operation_none;
  int operation_transpose;
  int desc_transpose_a;
  int desc_transpose_b;
  int layout_batch_count;     ///< std::int32_t
  int layout_batch_stride;    ///< std::int64_t
  int preference_workspace;   ///< std::uint64_t
  int preference_reductions;  ///< std::uint32_t: a mask of schemes
  std::uint32_t allowed_reductions;
  int preference_alignment_a;  ///< std::uint32_t; b, c and d follow
  std::size_t
      result_workspace_at;  ///< place in a heuristic's result, which starts with the algorithm
  std::size_t result_state_at;
  std::size_t result_bytes;
  int status_not_supported;  ///< also of a heuristic that knows no algorithm
  int (*data_type)(BlasType type);
  int (*compute_type)(BlasCompute compute);
};

/// The calls of one such library with its numbers.
struct LtLibrary {
  std::string name;  ///< "cuBLASLt"
  LtCalls calls{};
  LtNumbers numbers{};
  std::string (*status_text)(int status) = nullptr;  ///< with the number
  /// Asked before a handle is made: 0 or a BlasRefusal; may be empty.
  std::function<int()> check_start;
  /// Checks a new handle: 0 or a BlasRefusal; may be empty.
  std::function<int(void* handle)> check_handle;
};

/// The table over these calls.
std::unique_ptr<BlasApi> make_lt_api(LtLibrary library);

}  // namespace hiptool::hip
