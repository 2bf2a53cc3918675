// SPDX-License-Identifier: MIT
/// MIOpen in immediate mode: nothing is tuned, and a solution runs as the library estimates it.
#include "hip/dnn.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "hip/amd/bound_runtime.hpp"
#include "hip/amd/miopen.hpp"
#include "hip/conv_call.hpp"
#include "hip/gemm_call.hpp"
#include "hip/keep_forever.hpp"
#include "hip/side_calls.hpp"
#include "hip/side_library.hpp"

namespace hiptool::hip::amd {
namespace {

int miopen_type(BlasType type) {
  switch (type) {
    case BlasType::f64: return miopenDouble;
    case BlasType::f16: return miopenHalf;
    case BlasType::bf16: return miopenBFloat16;
    default: return miopenFloat;
  }
}

/// The descriptors of one convolution and its solution.
struct MiopenPlan {
  explicit MiopenPlan(const MiopenCalls& calls) : calls(calls) {}
  ~MiopenPlan() {
    for (void* desc : {x, filter, y}) {
      if (desc != nullptr) calls.miopenDestroyTensorDescriptor(desc);
    }
    if (conv != nullptr) calls.miopenDestroyConvolutionDescriptor(conv);
  }
  MiopenPlan(const MiopenPlan&) = delete;
  MiopenPlan& operator=(const MiopenPlan&) = delete;

  const MiopenCalls& calls;
  void* x = nullptr;
  void* filter = nullptr;
  void* y = nullptr;
  void* conv = nullptr;
  std::uint64_t solution = 0;
  std::size_t workspace_bytes = 0;
};

/// The descriptors of one pooling, which are cheap to make.
struct MiopenPool {
  explicit MiopenPool(const MiopenCalls& calls) : calls(calls) {}
  ~MiopenPool() {
    for (void* desc : {x, y}) {
      if (desc != nullptr) calls.miopenDestroyTensorDescriptor(desc);
    }
    if (pool != nullptr) calls.miopenDestroyPoolingDescriptor(pool);
  }
  MiopenPool(const MiopenPool&) = delete;
  MiopenPool& operator=(const MiopenPool&) = delete;

  const MiopenCalls& calls;
  void* x = nullptr;
  void* y = nullptr;
  void* pool = nullptr;
};

using MiopenHandle = ConvHandle<MiopenPlan>;

class MiopenApi final : public DnnApi {
 public:
  MiopenApi(const MiopenCalls& calls, const StartCheck& check_start)
      : calls_(calls), check_start_(check_start) {}

  int open(void*& handle) const override {
    handle = nullptr;
    if (const int refusal = check_start_(); refusal != 0) return refusal;
    auto opened = std::make_unique<MiopenHandle>();
    const int status = calls_.miopenCreate(&opened->native);
    if (status == miopenStatusSuccess) handle = opened.release();
    return status;
  }

  int plan(void* handle, const ConvCall& call, std::size_t& workspace_bytes) const override {
    workspace_bytes = 0;
    if (const int refusal = check(call); refusal != 0) return refusal;
    if (is_empty(call)) return 0;
    MiopenPlan* found = nullptr;
    const int status = find_plan(*static_cast<MiopenHandle*>(handle), call, found);
    if (status == 0) workspace_bytes = found->workspace_bytes;
    return status;
  }

  int convolve(void* handle, const ConvCall& call) const override {
    if (const int refusal = check(call); refusal != 0) return refusal;
    if (is_empty(call)) return 0;
    auto& opened = *static_cast<MiopenHandle*>(handle);
    int status = use_stream(opened, call.stream);
    if (status != miopenStatusSuccess) return status;
    MiopenPlan* found = nullptr;
    status = find_plan(opened, call, found);
    if (status != 0) return status;
    if (found->workspace_bytes > 0 && call.workspace == nullptr) return blas_invalid_call;
    return calls_.miopenConvolutionForwardImmediate(
        opened.native, found->filter, call.filter, found->x, call.x, found->conv, found->y, call.y,
        call.workspace, found->workspace_bytes, found->solution);
  }

  int pool(void* handle, const PoolCall& call) const override {
    if (const int refusal = check_pool(call); refusal != 0) return refusal;
    auto& opened = *static_cast<MiopenHandle*>(handle);
    int status = use_stream(opened, call.stream);
    if (status != miopenStatusSuccess) return status;
    MiopenPool all(calls_);
    if (status = describe(call, all); status != miopenStatusSuccess) return status;
    const float one = 1;  // also of halves
    const float zero = 0;
    return calls_.miopenPoolingForward(opened.native, all.pool, &one, all.x, call.x, &zero, all.y,
                                       call.y, false, nullptr, 0);
  }

  std::string error_text(int result) const override {
    if (result < 0) return refusal_text(result, "MIOpen");
    const char* name = calls_.miopenGetErrorString(result);
    return std::string(name != nullptr ? name : "unknown status") + " (" + std::to_string(result) +
           ")";
  }

  void close(void* handle) const noexcept override {
    const std::unique_ptr<MiopenHandle> opened(static_cast<MiopenHandle*>(handle));
    if (!opened) return;
    opened->plans.clear();
    calls_.miopenDestroy(opened->native);
  }

 private:
  static int check(const ConvCall& call) {
    return call.compute == BlasCompute::f32_fast_tf32 ? blas_types : check_conv(call);
  }

  int use_stream(MiopenHandle& opened, hipStream_t stream) const {
    if (opened.has_stream && opened.stream == stream) return miopenStatusSuccess;
    const int status = calls_.miopenSetStream(opened.native, stream);
    opened.has_stream = status == miopenStatusSuccess;
    opened.stream = stream;
    return status;
  }

  int describe(const PoolCall& call, MiopenPool& all) const {
    const auto size = [](std::int64_t number) { return static_cast<int>(number); };
    int status = calls_.miopenCreateTensorDescriptor(&all.x);
    const auto then = [&](const auto& step) {
      if (status == miopenStatusSuccess) status = step();
    };
    then([&] {
      return calls_.miopenSet4dTensorDescriptor(all.x, miopen_type(call.type), size(call.n),
                                                size(call.c), size(call.h), size(call.w));
    });
    then([&] { return calls_.miopenCreateTensorDescriptor(&all.y); });
    then([&] {
      return calls_.miopenSet4dTensorDescriptor(all.y, miopen_type(call.type), size(call.n),
                                                size(call.c), size(call.out_height()),
                                                size(call.out_width()));
    });
    then([&] { return calls_.miopenCreatePoolingDescriptor(&all.pool); });
    then([&] {
      return calls_.miopenSet2dPoolingDescriptor(
          all.pool, call.is_largest ? miopenPoolingMax : miopenPoolingAverage, size(call.r),
          size(call.s), 0, 0, size(call.stride_h), size(call.stride_w));
    });
    return status;
  }

  int find_plan(MiopenHandle& opened, const ConvCall& call, MiopenPlan*& plan) const {
    const ConvKey key = key_of(call);
    if (const auto found = opened.plans.find(key); found != opened.plans.end()) {
      plan = found->second.get();
      return 0;
    }
    auto made = std::make_unique<MiopenPlan>(calls_);
    int status = describe(call, *made);
    if (status == 0) status = choose(opened.native, call, *made);
    if (status == 0) plan = &opened.keep(key, std::move(made));
    return status;
  }

  int describe(const ConvCall& call, MiopenPlan& plan) const {
    const auto size = [](std::int64_t number) { return static_cast<int>(number); };
    int status = 0;
    const auto add_tensor = [&](void*& desc, std::int64_t n, std::int64_t c, std::int64_t h,
                                std::int64_t w) {
      if (status == 0) status = calls_.miopenCreateTensorDescriptor(&desc);
      if (status == 0) {
        status = calls_.miopenSet4dTensorDescriptor(desc, miopen_type(call.type), size(n), size(c),
                                                    size(h), size(w));
      }
    };
    add_tensor(plan.x, call.n, call.c, call.h, call.w);
    add_tensor(plan.filter, call.k, call.c / call.groups, call.r, call.s);
    add_tensor(plan.y, call.n, call.k, call.out_height(), call.out_width());
    if (status == 0) status = calls_.miopenCreateConvolutionDescriptor(&plan.conv);
    if (status == 0) {
      status = calls_.miopenInitConvolutionDescriptor(
          plan.conv, miopenConvolution, size(call.pad_h), size(call.pad_w), size(call.stride_h),
          size(call.stride_w), size(call.dilation_h), size(call.dilation_w));
    }
    if (status == 0) {
      status = calls_.miopenSetConvolutionGroupCount(plan.conv, size(call.groups));
    }
    return status;
  }

  int choose(void* native, const ConvCall& call, MiopenPlan& plan) const {
    std::size_t count = 0;
    int status = calls_.miopenConvolutionForwardGetSolutionCount(native, plan.filter, plan.x,
                                                                 plan.conv, plan.y, &count);
    if (status != miopenStatusSuccess) return status;
    std::vector<miopenConvSolution> solutions(count);
    if (count > 0) {
      status =
          calls_.miopenConvolutionForwardGetSolution(native, plan.filter, plan.x, plan.conv, plan.y,
                                                     solutions.size(), &count, solutions.data());
    }
    if (status != miopenStatusSuccess) return status;
    solutions.resize(std::min(count, solutions.size()));
    for (const miopenConvSolution& solution : solutions) {  // fastest first
      if (solution.workspace_size > call.workspace_bytes) continue;
      plan.solution = solution.solution_id;
      plan.workspace_bytes = solution.workspace_size;
      return calls_.miopenConvolutionForwardCompileSolution(native, plan.filter, plan.x, plan.conv,
                                                            plan.y, plan.solution);
    }
    return blas_no_algorithm;
  }

  const MiopenCalls& calls_;
  StartCheck check_start_;
};

std::string read_miopen_version(const MiopenCalls& calls) {
  std::size_t major = 0;
  std::size_t minor = 0;
  std::size_t patch = 0;
  if (calls.miopenGetVersion(&major, &minor, &patch) != miopenStatusSuccess) return {};
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

}  // namespace

DnnLibrary open_miopen() {
  DnnLibrary library;
  library.name = "MIOpen";
  const auto runtime = find_runtime();
  if (!runtime) {
    library.reason = "no HIP runtime was found, so no MIOpen either";
    return library;
  }
  auto calls = std::make_unique<MiopenCalls>();
  LibrarySearch search;
  search.name = library.name;
  search.soname = "libMIOpen.so";
  search.majors = {1};
  search.folders = list_library_folders(*runtime);
  search.is_unversioned_taken = true;
  search.advice = "install the package miopen-hip of the runtime's release, " + runtime->path();
  search.refusal = [&](const base::DynamicLibrary& opened) {
    std::string refusal = refuse_second_runtime(opened, *runtime);
    if (refusal.empty()) {
      refusal = load_calls(opened, *calls);
    }
    if (!refusal.empty()) return refusal;
    library.version = read_miopen_version(*calls);
    return refuse_version(library.version, {2, 3});
  };
  const FoundLibrary found = search_library(search);
  library.path = found.path;
  library.reason = found.reason;
  if (found.library) {
    library.api = &keep_forever(
        std::make_unique<MiopenApi>(keep_forever(std::move(calls)), StartCheck(*runtime)));
  }
  return library;
}

}  // namespace hiptool::hip::amd
