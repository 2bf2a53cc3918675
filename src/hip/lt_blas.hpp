// SPDX-License-Identifier: MIT
/// hipBLASLt and cuBLASLt, whose calls are the same under different names and numbers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/dynamic_library.hpp"
#include "hip/blas.hpp"

namespace hiptool::hip {

struct LtCalls {
  int (*create)(void** handle);
  int (*destroy)(void* handle);
  int (*desc_create)(void** desc, int compute, int scale_type);
  int (*desc_destroy)(void* desc);
  int (*desc_set)(void* desc, int attribute, const void* value, std::size_t bytes);
  int (*layout_create)(void** layout, int type, std::uint64_t rows, std::uint64_t columns,
                       std::int64_t ld);
  int (*layout_destroy)(void* layout);
  int (*layout_set)(void* layout, int attribute, const void* value, std::size_t bytes);
  int (*preference_create)(void** preference);
  int (*preference_destroy)(void* preference);
  int (*preference_set)(void* preference, int attribute, const void* value, std::size_t bytes);
  int (*heuristic)(void* handle, void* desc, void* a, void* b, void* c, void* d, void* preference,
                   int requested, void* results, int* returned);
  int (*matmul)(void* handle, void* desc, const void* alpha, const void* a, void* a_layout,
                const void* b, void* b_layout, const void* beta, const void* c, void* c_layout,
                void* d, void* d_layout, const void* algo, void* workspace,
                std::size_t workspace_bytes, hipStream_t stream);
};

/// Calls visit(member, suffix) for each call: its name is the library's prefix and the suffix.
template <class Visit>
void for_each_lt_call(const Visit& visit) {
  visit(&LtCalls::create, "Create");
  visit(&LtCalls::destroy, "Destroy");
  visit(&LtCalls::desc_create, "MatmulDescCreate");
  visit(&LtCalls::desc_destroy, "MatmulDescDestroy");
  visit(&LtCalls::desc_set, "MatmulDescSetAttribute");
  visit(&LtCalls::layout_create, "MatrixLayoutCreate");
  visit(&LtCalls::layout_destroy, "MatrixLayoutDestroy");
  visit(&LtCalls::layout_set, "MatrixLayoutSetAttribute");
  visit(&LtCalls::preference_create, "MatmulPreferenceCreate");
  visit(&LtCalls::preference_destroy, "MatmulPreferenceDestroy");
  visit(&LtCalls::preference_set, "MatmulPreferenceSetAttribute");
  visit(&LtCalls::heuristic, "MatmulAlgoGetHeuristic");
  visit(&LtCalls::matmul, "Matmul");
}

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
  int preference_alignment_a;  ///< std::uint32_t, and those of b, c and d follow
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

/// "lacks a, b" where calls are missing, else empty.
std::string load_lt_calls(const base::DynamicLibrary& library, const std::string& prefix,
                          LtCalls& calls);

/// The table over these calls.
std::unique_ptr<BlasApi> make_lt_api(LtLibrary library);

}  // namespace hiptool::hip
