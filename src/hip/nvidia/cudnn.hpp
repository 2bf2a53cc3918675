// SPDX-License-Identifier: MIT
/// The calls and numbers of cuDNN 8 and 9 that are used (cudnn.h; in 9 these calls are deprecated
/// and still there).
#pragma once
#include <cstddef>

#include "hip/abi.hpp"

namespace hiptool::hip::nvidia {

enum : int {
  CUDNN_STATUS_SUCCESS = 0,
  CUDNN_8_STATUS_NOT_INITIALIZED = 1,
  CUDNN_STATUS_NOT_INITIALIZED = 1001,
  CUDNN_TENSOR_NCHW = 0,
  CUDNN_DATA_FLOAT = 0,
  CUDNN_DATA_DOUBLE = 1,
  CUDNN_DATA_HALF = 2,
  CUDNN_DATA_BFLOAT16 = 9,
  CUDNN_CROSS_CORRELATION = 1,
  CUDNN_DEFAULT_MATH = 0,
  CUDNN_TENSOR_OP_MATH = 1,
  CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION = 2,
  CUDNN_FMA_MATH = 3,
  CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD = 6,
  CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED = 7,
  CUDNN_CONVOLUTION_FWD_ALGO_COUNT = 8,
};

struct cudnnConvolutionFwdAlgoPerf {
  int algo;
  int status;
  float time;
  std::size_t memory;
  int determinism;
  int mathType;
  int reserved[3];
};

struct CudnnCalls {
  std::size_t (*cudnnGetVersion)();
  const char* (*cudnnGetErrorString)(int status);
  int (*cudnnCreate)(void** handle);
  int (*cudnnDestroy)(void* handle);
  int (*cudnnSetStream)(void* handle, hipStream_t stream);
  int (*cudnnCreateTensorDescriptor)(void** desc);
  int (*cudnnSetTensor4dDescriptor)(void* desc, int format, int type, int n, int c, int h, int w);
  int (*cudnnDestroyTensorDescriptor)(void* desc);
  int (*cudnnCreateFilterDescriptor)(void** desc);
  int (*cudnnSetFilter4dDescriptor)(void* desc, int type, int format, int k, int c, int h, int w);
  int (*cudnnDestroyFilterDescriptor)(void* desc);
  int (*cudnnCreateConvolutionDescriptor)(void** desc);
  int (*cudnnSetConvolution2dDescriptor)(void* desc, int pad_h, int pad_w, int stride_h,
                                         int stride_w, int dilation_h, int dilation_w, int mode,
                                         int compute_type);
  int (*cudnnSetConvolutionGroupCount)(void* desc, int groups);
  int (*cudnnSetConvolutionMathType)(void* desc, int math);
  int (*cudnnDestroyConvolutionDescriptor)(void* desc);
  int (*cudnnGetConvolutionForwardAlgorithm_v7)(void* handle, void* x_desc, void* filter_desc,
                                                void* conv_desc, void* y_desc, int requested,
                                                int* returned,
                                                cudnnConvolutionFwdAlgoPerf* results);
  int (*cudnnFindConvolutionForwardAlgorithm)(void* handle, void* x_desc, void* filter_desc,
                                              void* conv_desc, void* y_desc, int requested,
                                              int* returned, cudnnConvolutionFwdAlgoPerf* results);
  int (*cudnnGetConvolutionForwardWorkspaceSize)(void* handle, void* x_desc, void* filter_desc,
                                                 void* conv_desc, void* y_desc, int algo,
                                                 std::size_t* bytes);
  int (*cudnnConvolutionForward)(void* handle, const void* alpha, void* x_desc, const void* x,
                                 void* filter_desc, const void* filter, void* conv_desc, int algo,
                                 void* workspace, std::size_t workspace_bytes, const void* beta,
                                 void* y_desc, void* y);
};

/// Calls visit(member, name, is_required) for each call.
template <class Visit>
void for_each_cudnn_call(const Visit& visit) {
  visit(&CudnnCalls::cudnnGetVersion, "cudnnGetVersion", true);
  visit(&CudnnCalls::cudnnGetErrorString, "cudnnGetErrorString", true);
  visit(&CudnnCalls::cudnnCreate, "cudnnCreate", true);
  visit(&CudnnCalls::cudnnDestroy, "cudnnDestroy", true);
  visit(&CudnnCalls::cudnnSetStream, "cudnnSetStream", true);
  visit(&CudnnCalls::cudnnCreateTensorDescriptor, "cudnnCreateTensorDescriptor", true);
  visit(&CudnnCalls::cudnnSetTensor4dDescriptor, "cudnnSetTensor4dDescriptor", true);
  visit(&CudnnCalls::cudnnDestroyTensorDescriptor, "cudnnDestroyTensorDescriptor", true);
  visit(&CudnnCalls::cudnnCreateFilterDescriptor, "cudnnCreateFilterDescriptor", true);
  visit(&CudnnCalls::cudnnSetFilter4dDescriptor, "cudnnSetFilter4dDescriptor", true);
  visit(&CudnnCalls::cudnnDestroyFilterDescriptor, "cudnnDestroyFilterDescriptor", true);
  visit(&CudnnCalls::cudnnCreateConvolutionDescriptor, "cudnnCreateConvolutionDescriptor", true);
  visit(&CudnnCalls::cudnnSetConvolution2dDescriptor, "cudnnSetConvolution2dDescriptor", true);
  visit(&CudnnCalls::cudnnSetConvolutionGroupCount, "cudnnSetConvolutionGroupCount", true);
  visit(&CudnnCalls::cudnnSetConvolutionMathType, "cudnnSetConvolutionMathType", true);
  visit(&CudnnCalls::cudnnDestroyConvolutionDescriptor, "cudnnDestroyConvolutionDescriptor", true);
  visit(&CudnnCalls::cudnnGetConvolutionForwardAlgorithm_v7,
        "cudnnGetConvolutionForwardAlgorithm_v7", true);
  visit(&CudnnCalls::cudnnFindConvolutionForwardAlgorithm, "cudnnFindConvolutionForwardAlgorithm",
        false);
  visit(&CudnnCalls::cudnnGetConvolutionForwardWorkspaceSize,
        "cudnnGetConvolutionForwardWorkspaceSize", true);
  visit(&CudnnCalls::cudnnConvolutionForward, "cudnnConvolutionForward", true);
}

}  // namespace hiptool::hip::nvidia
