// SPDX-License-Identifier: MIT
/// OpenBLAS on the streams of the cpu platform.
#include "hip/blas.hpp"

#include <sched.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "hip/api.hpp"
#include "hip/cpu/calls.hpp"
#include "hip/cpu/openblas.hpp"
#include "hip/gemm_call.hpp"
#include "hip/keep_forever.hpp"
#include "hip/side_calls.hpp"
#include "hip/side_library.hpp"

namespace hiptool::hip::cpu {
namespace {

int cblas_transpose(bool is_transposed) { return is_transposed ? CblasTrans : CblasNoTrans; }

/// The processors that this process may use.
int count_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

template <class Number, class Function>
void multiply_batch(Function function, const GemmCall& call) {
  const auto size = [](std::int64_t number) { return static_cast<int>(number); };
  for (std::int64_t i = 0; i < call.batch; ++i) {
    function(CblasRowMajor, cblas_transpose(call.transpose_a), cblas_transpose(call.transpose_b),
             size(call.m), size(call.n), size(call.k), static_cast<Number>(call.alpha),
             static_cast<const Number*>(call.a) + i * call.stride_a, size(call.lda),
             static_cast<const Number*>(call.b) + i * call.stride_b, size(call.ldb),
             static_cast<Number>(call.beta), static_cast<Number*>(call.c) + i * call.stride_c,
             size(call.ldc));
  }
}

struct QueuedGemm {
  const OpenblasCalls* calls;
  GemmCall call;
};

void run_gemm(const OpenblasCalls& calls, const GemmCall& call) {
  if (call.c_type == BlasType::f64) {
    multiply_batch<double>(calls.cblas_dgemm, call);
  } else {
    multiply_batch<float>(calls.cblas_sgemm, call);
  }
}

void run_queued(void* user_data) {
  const std::unique_ptr<QueuedGemm> queued(static_cast<QueuedGemm*>(user_data));
  run_gemm(*queued->calls, queued->call);
}

class OpenblasApi final : public BlasApi {
 public:
  explicit OpenblasApi(const OpenblasCalls& calls) : calls_(calls) { add_stream_calls(streams_); }

  int open(void*& handle) const override {
    if (std::getenv("OPENBLAS_NUM_THREADS") == nullptr) {
      calls_.openblas_set_num_threads(count_processors());
    }
    handle = const_cast<OpenblasApi*>(this);  // it has no state of a handle's own
    return 0;
  }

  int gemm(void*, const GemmCall& call) const override {
    if (const int refusal = check_gemm(call); refusal != 0) return refusal;
    if (call.compute != BlasCompute::f32 && call.compute != BlasCompute::f64) return blas_types;
    if (call.a_type != BlasType::f32 && call.a_type != BlasType::f64) return blas_types;
    if (is_empty(call)) return 0;
    if (!fits_32_bits(call)) return blas_too_large;
    if (call.stream == nullptr) {
      run_gemm(calls_, call);
      return 0;
    }
    std::unique_ptr<QueuedGemm> queued(new (std::nothrow) QueuedGemm{&calls_, call});
    if (queued == nullptr) return hipErrorOutOfMemory;
    const hipError_t error = streams_.hipLaunchHostFunc(call.stream, run_queued, queued.get());
    if (error == hipSuccess) queued.release();  // the stream owns it now
    return error;
  }

  std::string error_text(int result) const override {
    if (result < 0) return refusal_text(result, "OpenBLAS");
    return "the stream answered hipError_t " + std::to_string(result);
  }

  void close(void*) const noexcept override {}

 private:
  const OpenblasCalls& calls_;
  Api streams_ = make_unsupported_api();
};

/// "0.3.21" of "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...".
std::string version_of_config(std::string_view config) {
  const std::size_t start = config.find_first_of("0123456789");
  if (start == std::string_view::npos) return {};
  const std::size_t end = config.find_first_not_of("0123456789.", start);
  return std::string(config.substr(start, end - start));
}

}  // namespace

BlasLibrary open_openblas() {
  BlasLibrary library;
  library.name = "OpenBLAS";
  auto calls = std::make_unique<OpenblasCalls>();
  LibrarySearch search;
  search.name = library.name;
  search.soname = "libopenblas.so";
  search.majors = {0};
  search.advice = "install the package libopenblas0-pthread";
  search.refusal = [&](const base::DynamicLibrary& opened) {
    const std::string refusal = load_calls(opened, *calls);
    if (!refusal.empty()) return refusal;
    const std::string_view config = calls->openblas_get_config();
    library.version = version_of_config(config);
    if (config.find("USE64BITINT") != std::string_view::npos) {
      return std::string("has 64-bit integers under the names of the 32-bit calls");
    }
    return refuse_version(library.version, {0});
  };
  const FoundLibrary found = search_library(search);
  library.path = found.path;
  library.reason = found.reason;
  if (found.library) {
    library.api = &keep_forever(std::make_unique<OpenblasApi>(keep_forever(std::move(calls))));
  }
  return library;
}

}  // namespace hiptool::hip::cpu
