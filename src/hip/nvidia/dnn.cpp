// SPDX-License-Identifier: MIT
/// cuDNN by its legacy convolution calls.
#include "hip/dnn.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "hip/conv_call.hpp"
#include "hip/gemm_call.hpp"
#include "hip/keep_forever.hpp"
#include "hip/nvidia/cublas.hpp"
#include "hip/nvidia/cudnn.hpp"
#include "hip/side_calls.hpp"
#include "hip/side_library.hpp"

namespace hiptool::hip::nvidia {
namespace {

int cudnn_type(BlasType type) {
  switch (type) {
    case BlasType::f64: return CUDNN_DATA_DOUBLE;
    case BlasType::f16: return CUDNN_DATA_HALF;
    case BlasType::bf16: return CUDNN_DATA_BFLOAT16;
    default: return CUDNN_DATA_FLOAT;
  }
}

/// The default mode lets f32 convolutions use TF32.
int cudnn_math(const ConvCall& call) {
  if (is_half(call.type)) return CUDNN_TENSOR_OP_MATH;
  const bool is_exact = call.type == BlasType::f32 && call.compute == BlasCompute::f32;
  return is_exact ? CUDNN_FMA_MATH : CUDNN_DEFAULT_MATH;
}

/// The descriptors of one convolution and its algorithm.
struct CudnnPlan {
  explicit CudnnPlan(const CudnnCalls& calls) : calls(calls) {}
  ~CudnnPlan() {
    for (void* desc : {x, y}) {
      if (desc != nullptr) calls.cudnnDestroyTensorDescriptor(desc);
    }
    if (filter != nullptr) calls.cudnnDestroyFilterDescriptor(filter);
    if (conv != nullptr) calls.cudnnDestroyConvolutionDescriptor(conv);
  }
  CudnnPlan(const CudnnPlan&) = delete;
  CudnnPlan& operator=(const CudnnPlan&) = delete;

  const CudnnCalls& calls;
  void* x = nullptr;
  void* filter = nullptr;
  void* y = nullptr;
  void* conv = nullptr;
  int algo = 0;
  std::size_t workspace_bytes = 0;
};

using CudnnHandle = ConvHandle<CudnnPlan>;

class CudnnApi final : public DnnApi {
 public:
  explicit CudnnApi(const CudnnCalls& calls) : calls_(calls) {}

  int open(void*& handle) const override {
    handle = nullptr;
    auto opened = std::make_unique<CudnnHandle>();
    const int status = calls_.cudnnCreate(&opened->native);
    if (status == CUDNN_STATUS_SUCCESS) handle = opened.release();
    return status;
  }

  int plan(void* handle, const ConvCall& call, std::size_t& workspace_bytes) const override {
    workspace_bytes = 0;
    if (const int refusal = check_conv(call); refusal != 0) return refusal;
    if (is_empty(call)) return 0;
    CudnnPlan* found = nullptr;
    const int status = find_plan(*static_cast<CudnnHandle*>(handle), call, found);
    if (status == 0) workspace_bytes = found->workspace_bytes;
    return status;
  }

  int convolve(void* handle, const ConvCall& call) const override {
    if (const int refusal = check_conv(call); refusal != 0) return refusal;
    if (is_empty(call)) return 0;
    auto& opened = *static_cast<CudnnHandle*>(handle);
    int status = 0;
    if (!opened.has_stream || opened.stream != call.stream) {
      status = calls_.cudnnSetStream(opened.native, call.stream);
      if (status != CUDNN_STATUS_SUCCESS) return status;
      opened.has_stream = true;
      opened.stream = call.stream;
    }
    CudnnPlan* found = nullptr;
    status = find_plan(opened, call, found);
    if (status != 0) return status;
    if (found->workspace_bytes > 0 && call.workspace == nullptr) return blas_invalid_call;
    const GemmScalar alpha(1, call.compute);
    const GemmScalar beta(0, call.compute);
    return calls_.cudnnConvolutionForward(
        opened.native, alpha.pointer(), found->x, call.x, found->filter, call.filter, found->conv,
        found->algo, call.workspace, found->workspace_bytes, beta.pointer(), found->y, call.y);
  }

  std::string error_text(int result) const override {
    if (result < 0) return refusal_text(result, "cuDNN");
    const char* name = calls_.cudnnGetErrorString(result);
    std::string text = std::string(name != nullptr ? name : "unknown status") + " (" +
                       std::to_string(result) + ")";
    // 1 is the number of cuDNN 8.
    if (result == CUDNN_STATUS_NOT_INITIALIZED || result == CUDNN_8_STATUS_NOT_INITIALIZED) {
      text += ": no usable NVIDIA driver or GPU, or a part of cuDNN is missing";
    }
    return text;
  }

  void close(void* handle) const noexcept override {
    const std::unique_ptr<CudnnHandle> opened(static_cast<CudnnHandle*>(handle));
    if (!opened) return;
    opened->plans.clear();
    calls_.cudnnDestroy(opened->native);
  }

 private:
  int find_plan(CudnnHandle& opened, const ConvCall& call, CudnnPlan*& plan) const {
    const ConvKey key = key_of(call);
    if (const auto found = opened.plans.find(key); found != opened.plans.end()) {
      plan = found->second.get();
      return 0;
    }
    auto made = std::make_unique<CudnnPlan>(calls_);
    int status = describe(call, *made);
    if (status == 0) status = choose(opened.native, call, *made);
    if (status == 0) plan = &opened.keep(key, std::move(made));
    return status;
  }

  int describe(const ConvCall& call, CudnnPlan& plan) const {
    const auto size = [](std::int64_t number) { return static_cast<int>(number); };
    const int type = cudnn_type(call.type);
    int status = 0;
    const auto then = [&](const auto& step) {
      if (status == 0) status = step();
    };
    then([&] { return calls_.cudnnCreateTensorDescriptor(&plan.x); });
    then([&] {
      return calls_.cudnnSetTensor4dDescriptor(plan.x, CUDNN_TENSOR_NCHW, type, size(call.n),
                                               size(call.c), size(call.h), size(call.w));
    });
    then([&] { return calls_.cudnnCreateFilterDescriptor(&plan.filter); });
    then([&] {
      return calls_.cudnnSetFilter4dDescriptor(plan.filter, type, CUDNN_TENSOR_NCHW, size(call.k),
                                               size(call.c / call.groups), size(call.r),
                                               size(call.s));
    });
    then([&] { return calls_.cudnnCreateTensorDescriptor(&plan.y); });
    then([&] {
      return calls_.cudnnSetTensor4dDescriptor(plan.y, CUDNN_TENSOR_NCHW, type, size(call.n),
                                               size(call.k), size(call.out_height()),
                                               size(call.out_width()));
    });
    then([&] { return calls_.cudnnCreateConvolutionDescriptor(&plan.conv); });
    then([&] {
      return calls_.cudnnSetConvolution2dDescriptor(
          plan.conv, size(call.pad_h), size(call.pad_w), size(call.stride_h), size(call.stride_w),
          size(call.dilation_h), size(call.dilation_w), CUDNN_CROSS_CORRELATION,
          call.type == BlasType::f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT);
    });
    then([&] { return calls_.cudnnSetConvolutionGroupCount(plan.conv, size(call.groups)); });
    then([&] { return calls_.cudnnSetConvolutionMathType(plan.conv, cudnn_math(call)); });
    return status;
  }

  int choose(void* native, const ConvCall& call, CudnnPlan& plan) const {
    std::array<cudnnConvolutionFwdAlgoPerf, CUDNN_CONVOLUTION_FWD_ALGO_COUNT> results{};
    int count = 0;
    const auto list_by = [&](auto call_to_list) {
      return call_to_list(native, plan.x, plan.filter, plan.conv, plan.y,
                          static_cast<int>(results.size()), &count, results.data());
    };
    const auto measured = calls_.cudnnFindConvolutionForwardAlgorithm;
    int status = CUDNN_STATUS_SUCCESS;
    if (!call.measures || measured == nullptr || list_by(measured) != CUDNN_STATUS_SUCCESS) {
      status = list_by(calls_.cudnnGetConvolutionForwardAlgorithm_v7);
    }
    if (status != CUDNN_STATUS_SUCCESS) return status;
    const auto returned =
        static_cast<std::size_t>(std::clamp(count, 0, static_cast<int>(results.size())));
    for (std::size_t i = 0; i < returned; ++i) {  // fastest first
      if (results[i].status != CUDNN_STATUS_SUCCESS) continue;
      // Winograd transforms halves in halves: its sums are not those of f32.
      const bool is_winograd = results[i].algo == CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD ||
                               results[i].algo == CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED;
      if (is_winograd && is_half(call.type)) continue;
      std::size_t bytes = 0;
      status = calls_.cudnnGetConvolutionForwardWorkspaceSize(
          native, plan.x, plan.filter, plan.conv, plan.y, results[i].algo, &bytes);
      if (status != CUDNN_STATUS_SUCCESS || bytes > call.workspace_bytes) continue;
      plan.algo = results[i].algo;
      plan.workspace_bytes = bytes;
      return CUDNN_STATUS_SUCCESS;
    }
    return blas_no_algorithm;
  }

  const CudnnCalls& calls_;
};

/// "9.19.0" of 91900, "8.9.7" of 8907.
std::string format_cudnn_version(std::size_t version) {
  const std::size_t base = version >= 90000 ? 10000 : 1000;
  return std::to_string(version / base) + "." + std::to_string(version % base / 100) + "." +
         std::to_string(version % 100);
}

}  // namespace

DnnLibrary open_cudnn() {
  DnnLibrary library;
  library.name = "cuDNN";
  auto calls = std::make_unique<CudnnCalls>();
  CudaFolders folders = list_cuda_folders();
  LibrarySearch search;
  search.name = library.name;
  search.soname = "libcudnn.so";
  search.majors = {9, 8};
  search.folders = std::move(folders.before);
  search.later_folders = std::move(folders.after);
  search.advice = "install it from NVIDIA's packages or as the wheel nvidia-cudnn";
  search.refusal = [&](const base::DynamicLibrary& opened) {
    const std::string refusal = load_calls(
        opened, [](const auto& visit) { for_each_cudnn_call(visit); }, *calls);
    if (!refusal.empty()) return refusal;
    library.version = format_cudnn_version(calls->cudnnGetVersion());
    return refuse_version(library.version, {8, 9});
  };
  const FoundLibrary found = search_library(search);
  library.path = found.path;
  library.reason = found.reason;
  if (found.library) {
    library.api = &keep_forever(std::make_unique<CudnnApi>(keep_forever(std::move(calls))));
  }
  return library;
}

}  // namespace hiptool::hip::nvidia
