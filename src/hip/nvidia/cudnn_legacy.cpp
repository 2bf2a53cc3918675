// SPDX-License-Identifier: MIT
#include "hip/nvidia/cudnn_legacy.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "hip/gemm_call.hpp"
#include "hip/nvidia/cudnn_types.hpp"

namespace hiptool::hip::nvidia {
namespace {

/// The default mode lets f32 convolutions use TF32.
int cudnn_math(const ConvCall& call) {
  if (is_half(call.type)) return CUDNN_TENSOR_OP_MATH;
  const bool is_exact = call.type == BlasType::f32 && call.compute == BlasCompute::f32;
  return is_exact ? CUDNN_FMA_MATH : CUDNN_DEFAULT_MATH;
}

}  // namespace

CudnnLegacyPlan::~CudnnLegacyPlan() {
  for (void* desc : {x_, y_}) {
    if (desc != nullptr) calls_.cudnnDestroyTensorDescriptor(desc);
  }
  if (filter_ != nullptr) calls_.cudnnDestroyFilterDescriptor(filter_);
  if (conv_ != nullptr) calls_.cudnnDestroyConvolutionDescriptor(conv_);
}

int CudnnLegacyPlan::make(void* handle, const ConvCall& call) {
  const int status = describe(call);
  return status == CUDNN_STATUS_SUCCESS ? choose(handle, call) : status;
}

int CudnnLegacyPlan::execute(void* handle, const ConvCall& call) const {
  const GemmScalar alpha(1, call.compute);
  const GemmScalar beta(0, call.compute);
  return calls_.cudnnConvolutionForward(handle, alpha.pointer(), x_, call.x, filter_, call.filter,
                                        conv_, algo_, call.workspace, workspace_bytes_,
                                        beta.pointer(), y_, call.y);
}

int CudnnLegacyPlan::describe(const ConvCall& call) {
  const auto size = [](std::int64_t number) { return static_cast<int>(number); };
  const int type = cudnn_type(call.type);
  int status = 0;
  const auto then = [&](const auto& step) {
    if (status == 0) status = step();
  };
  then([&] { return calls_.cudnnCreateTensorDescriptor(&x_); });
  then([&] {
    return calls_.cudnnSetTensor4dDescriptor(x_, CUDNN_TENSOR_NCHW, type, size(call.n),
                                             size(call.c), size(call.h), size(call.w));
  });
  then([&] { return calls_.cudnnCreateFilterDescriptor(&filter_); });
  then([&] {
    return calls_.cudnnSetFilter4dDescriptor(filter_, type, CUDNN_TENSOR_NCHW, size(call.k),
                                             size(call.c / call.groups), size(call.r),
                                             size(call.s));
  });
  then([&] { return calls_.cudnnCreateTensorDescriptor(&y_); });
  then([&] {
    return calls_.cudnnSetTensor4dDescriptor(y_, CUDNN_TENSOR_NCHW, type, size(call.n),
                                             size(call.k), size(call.out_height()),
                                             size(call.out_width()));
  });
  then([&] { return calls_.cudnnCreateConvolutionDescriptor(&conv_); });
  then([&] {
    return calls_.cudnnSetConvolution2dDescriptor(
        conv_, size(call.pad_h), size(call.pad_w), size(call.stride_h), size(call.stride_w),
        size(call.dilation_h), size(call.dilation_w), CUDNN_CROSS_CORRELATION,
        cudnn_compute_type(call.type));
  });
  then([&] { return calls_.cudnnSetConvolutionGroupCount(conv_, size(call.groups)); });
  then([&] { return calls_.cudnnSetConvolutionMathType(conv_, cudnn_math(call)); });
  return status;
}

int CudnnLegacyPlan::choose(void* handle, const ConvCall& call) {
  std::array<cudnnConvolutionFwdAlgoPerf, CUDNN_CONVOLUTION_FWD_ALGO_COUNT> results{};
  int count = 0;
  const auto list_by = [&](auto call_to_list) {
    return call_to_list(handle, x_, filter_, conv_, y_, static_cast<int>(results.size()), &count,
                        results.data());
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
    // Winograd transforms halves in halves: its sums differ from sums in f32.
    const bool is_winograd = results[i].algo == CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD ||
                             results[i].algo == CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED;
    if (is_winograd && is_half(call.type)) continue;
    std::size_t bytes = 0;
    status = calls_.cudnnGetConvolutionForwardWorkspaceSize(handle, x_, filter_, conv_, y_,
                                                            results[i].algo, &bytes);
    if (status != CUDNN_STATUS_SUCCESS || bytes > call.workspace_bytes) continue;
    algo_ = results[i].algo;
    workspace_bytes_ = bytes;
    return CUDNN_STATUS_SUCCESS;
  }
  return blas_no_algorithm;
}

}  // namespace hiptool::hip::nvidia
