// SPDX-License-Identifier: MIT
/// rocBLAS with either of its backends.
#include "hip/blas.hpp"

#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>

#include "hip/amd/bound_runtime.hpp"
#include "hip/amd/rocblas.hpp"
#include "hip/gemm_call.hpp"
#include "hip/side_calls.hpp"
#include "hip/side_library.hpp"

namespace hiptool::hip::amd {
namespace {

constexpr const char* backend_variable = "ROCBLAS_USE_HIPBLASLT";

int rocblas_type(BlasType type) {
  switch (type) {
    case BlasType::f64: return rocblas_datatype_f64_r;
    case BlasType::f32: return rocblas_datatype_f32_r;
    case BlasType::f16: return rocblas_datatype_f16_r;
    case BlasType::bf16: return rocblas_datatype_bf16_r;
    case BlasType::i8: return rocblas_datatype_i8_r;
    case BlasType::i32: return rocblas_datatype_i32_r;
  }
  return -1;
}

int rocblas_transpose(bool is_transposed) {
  return is_transposed ? rocblas_operation_transpose : rocblas_operation_none;
}

/// The library as both choices share it.
struct Rocblas {
  RocblasCalls calls{};
  BlasLibrary library;  ///< without `api`
  std::optional<StartCheck> check_start;
  bool has_hipblaslt = false;  ///< it was built with that backend
  bool was_mapped = false;     ///< the program has loaded it before, and may have used it
  std::mutex mutex;            ///< of `backend`
  int backend = -1;            ///< of this process: 0, 1; -1: not chosen yet
};

struct RocblasHandle {
  rocblas_handle native = nullptr;
  hipStream_t stream = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

/// True if the library will run, or may already run, with that backend.
bool choose_backend(Rocblas& rocblas, int wanted) {
  const std::lock_guard lock(rocblas.mutex);
  if (rocblas.backend >= 0) return rocblas.backend == wanted;
  const std::string text = std::to_string(wanted);
  const char* set = std::getenv(backend_variable);
  if (rocblas.was_mapped && (set == nullptr || set != text)) return false;
  setenv(backend_variable, text.c_str(), 1);
  rocblas.backend = wanted;
  return true;
}

class RocblasApi final : public BlasApi {
 public:
  RocblasApi(Rocblas& rocblas, bool with_hipblaslt)
      : rocblas_(rocblas), calls_(rocblas.calls), backend_(with_hipblaslt ? 1 : 0) {}

  int open(void*& handle) const override {
    handle = nullptr;
    if (const int refusal = (*rocblas_.check_start)(); refusal != 0) return refusal;
    if (!choose_backend(rocblas_, backend_)) return blas_other_backend;
    auto opened = std::make_unique<RocblasHandle>();
    int status = calls_.rocblas_create_handle(&opened->native);
    if (status != rocblas_status_success) return status;
    status = calls_.rocblas_set_pointer_mode(opened->native, rocblas_pointer_mode_host);
    // Sums by atomic additions have no fixed order, and some releases allow them by default.
    if (status == rocblas_status_success) {
      status = calls_.rocblas_set_atomics_mode(opened->native, rocblas_atomics_not_allowed);
    }
    if (status == rocblas_status_success) {
      handle = opened.release();
    } else {
      calls_.rocblas_destroy_handle(opened->native);
    }
    return status;
  }

  int gemm(void* handle, const GemmCall& call) const override {
    if (const int refusal = check_gemm(call); refusal != 0) return refusal;
    if (call.compute == BlasCompute::f32_fast_tf32) return blas_types;
    if (is_empty(call)) return 0;
    const bool is_long = !fits_32_bits(call);
    if (is_long && calls_.rocblas_gemm_strided_batched_ex_64 == nullptr) return blas_too_large;
    auto& opened = *static_cast<RocblasHandle*>(handle);
    if (const int status = prepare(opened, call); status != rocblas_status_success) return status;
    const int status = is_long ? multiply(calls_.rocblas_gemm_strided_batched_ex_64, opened, call)
                               : multiply(calls_.rocblas_gemm_strided_batched_ex, opened, call);
    // Not every device has kernels for i8.
    const bool is_missing =
        call.compute == BlasCompute::i32 && status == rocblas_status_not_implemented;
    return is_missing ? blas_no_algorithm : status;
  }

  std::string error_text(int result) const override {
    if (result < 0) return refusal_text(result, "rocBLAS");
    const char* name = calls_.rocblas_status_to_string(result);
    return std::string(name != nullptr ? name : "unknown status") + " (" + std::to_string(result) +
           ")";
  }

  void close(void* handle) const noexcept override {
    const std::unique_ptr<RocblasHandle> opened(static_cast<RocblasHandle*>(handle));
    if (opened) calls_.rocblas_destroy_handle(opened->native);
  }

 private:
  int prepare(RocblasHandle& opened, const GemmCall& call) const {
    if (opened.stream != call.stream) {
      const int status = calls_.rocblas_set_stream(opened.native, call.stream);
      if (status != rocblas_status_success) return status;
      opened.stream = call.stream;
    }
    const bool is_same =
        opened.workspace == call.workspace && opened.workspace_bytes == call.workspace_bytes;
    if (is_same || calls_.rocblas_set_workspace == nullptr) return rocblas_status_success;
    const int status =
        calls_.rocblas_set_workspace(opened.native, call.workspace, call.workspace_bytes);
    if (status != rocblas_status_success) return status;
    opened.workspace = call.workspace;
    opened.workspace_bytes = call.workspace_bytes;
    return rocblas_status_success;
  }

  template <class... Arguments>
  static int multiply(int (*function)(rocblas_handle, int, int, Arguments...),
                      const RocblasHandle& opened, const GemmCall& call) {
    const ColumnMajorGemm gemm = to_column_major(call);
    const GemmScalar alpha(call.alpha, call.compute);
    const GemmScalar beta(call.beta, call.compute);
    // The numbers of the 32-bit call fit, which fits_32_bits has checked.
    using Size = std::tuple_element_t<0, std::tuple<Arguments...>>;
    const auto size = [](std::int64_t number) { return static_cast<Size>(number); };
    const int c_type = rocblas_type(call.c_type);
    return function(opened.native, rocblas_transpose(gemm.transpose_first),
                    rocblas_transpose(gemm.transpose_second), size(gemm.m), size(gemm.n),
                    size(gemm.k), alpha.pointer(), gemm.first, rocblas_type(gemm.first_type),
                    size(gemm.first_ld), gemm.first_stride, gemm.second,
                    rocblas_type(gemm.second_type), size(gemm.second_ld), gemm.second_stride,
                    beta.pointer(), call.c, c_type, size(call.ldc), call.stride_c, call.c, c_type,
                    size(call.ldc), call.stride_c, size(call.batch),
                    rocblas_type(scalar_type(call.compute)), rocblas_gemm_algo_standard, 0,
                    rocblas_gemm_flags_none);
  }

  Rocblas& rocblas_;
  const RocblasCalls& calls_;
  int backend_;
};

/// "5.1.0" of "5.1.0.3e8b5a5-dirty".
std::string read_version(const RocblasCalls& calls) {
  char text[128] = {};
  if (calls.rocblas_get_version_string(text, sizeof(text) - 1) != rocblas_status_success) return {};
  std::string version = text;
  std::size_t at = 0;
  for (int dots = 0; at < version.size(); ++at) {
    if (version[at] == '.' && ++dots == 3) break;
  }
  return version.substr(0, at);
}

/// File names' numbers of the releases that use a major of the runtime.
std::vector<int> file_majors(int runtime) {
  if (runtime >= 7) return {5};
  switch (runtime) {
    case 6: return {4};
    case 5: return {3, 0};
    default: return {5, 4, 3, 0};
  }
}

void load(Rocblas& rocblas) {
  BlasLibrary& library = rocblas.library;
  library.name = "rocBLAS";
  const auto runtime = find_runtime();
  if (!runtime) {
    library.reason = "no HIP runtime was found, so no rocBLAS either";
    return;
  }
  rocblas.check_start.emplace(*runtime);
  LibrarySearch search;
  search.name = "rocBLAS";
  search.soname = "librocblas.so";
  search.majors = file_majors(runtime_major(*runtime));
  search.folders = list_library_folders(*runtime);
  search.is_unversioned_taken = true;
  search.advice = "install the package rocblas of the runtime's release, " + runtime->path();
  for (const int major : search.majors) {
    rocblas.was_mapped = rocblas.was_mapped || base::DynamicLibrary::find_loaded(
                                                   search.soname + "." + std::to_string(major));
  }
  search.refusal = [&](const base::DynamicLibrary& opened) {
    std::string refusal = refuse_second_runtime(opened, *runtime);
    if (refusal.empty()) refusal = load_calls(opened, rocblas.calls);
    if (!refusal.empty()) return refusal;
    library.version = read_version(rocblas.calls);
    return refuse_version(library.version, {2, 3, 4, 5});
  };
  const FoundLibrary found = search_library(search);
  library.path = found.path;
  library.reason = found.reason;
  if (!found.library) return;
  // Found in what the library depends on if it was built with that backend.
  rocblas.has_hipblaslt = found.library->symbol("hipblasLtCreate") != nullptr;
  library.targets = list_targets(library.path, "rocblas", "ROCBLAS_TENSILE_LIBPATH");
}

Rocblas& load_rocblas() {
  static Rocblas& rocblas = []() -> Rocblas& {
    auto* loaded = new Rocblas;  // lives to the end of the process
    load(*loaded);
    return *loaded;
  }();
  return rocblas;
}

}  // namespace

BlasLibrary open_rocblas(bool with_hipblaslt) {
  Rocblas& rocblas = load_rocblas();
  BlasLibrary library = rocblas.library;
  if (with_hipblaslt) library.name = "rocBLAS with hipBLASLt";
  if (!library.reason.empty()) return library;
  if (with_hipblaslt && !rocblas.has_hipblaslt) {
    library.reason = library.path + " was built without hipBLASLt: it has Tensile only";
    return library;
  }
  static const RocblasApi tensile(rocblas, false);
  static const RocblasApi hipblaslt(rocblas, true);
  library.api = with_hipblaslt ? &hipblaslt : &tensile;
  return library;
}

}  // namespace hiptool::hip::amd
