// SPDX-License-Identifier: MIT
/// The calls and numbers of cuDNN 8 and 9 that are used (cudnn.h; in 9 these calls are deprecated
/// and still there).
#pragma once
#include <cstddef>

#include "hip/abi.hpp"
#include "hip/call_table.hpp"

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
  CUDNN_POOLING_MAX = 0,
  CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING = 2,
  CUDNN_PROPAGATE_NAN = 1,
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

#define HIPTOOL_CUDNN_CALLS(CALL)                                                                 \
  CALL(required, std::size_t, cudnnGetVersion, ())                                                \
  CALL(required, const char*, cudnnGetErrorString, (int status))                                  \
  CALL(required, int, cudnnCreate, (void** handle))                                               \
  CALL(required, int, cudnnDestroy, (void* handle))                                               \
  CALL(required, int, cudnnSetStream, (void* handle, hipStream_t stream))                         \
  CALL(required, int, cudnnCreateTensorDescriptor, (void** desc))                                 \
  CALL(required, int, cudnnSetTensor4dDescriptor,                                                 \
       (void* desc, int format, int type, int n, int c, int h, int w))                            \
  CALL(required, int, cudnnDestroyTensorDescriptor, (void* desc))                                 \
  CALL(required, int, cudnnCreateFilterDescriptor, (void** desc))                                 \
  CALL(required, int, cudnnSetFilter4dDescriptor,                                                 \
       (void* desc, int type, int format, int k, int c, int h, int w))                            \
  CALL(required, int, cudnnDestroyFilterDescriptor, (void* desc))                                 \
  CALL(required, int, cudnnCreateConvolutionDescriptor, (void** desc))                            \
  CALL(required, int, cudnnSetConvolution2dDescriptor,                                            \
       (void* desc, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h,             \
        int dilation_w, int mode, int compute_type))                                              \
  CALL(required, int, cudnnSetConvolutionGroupCount, (void* desc, int groups))                    \
  CALL(required, int, cudnnSetConvolutionMathType, (void* desc, int math))                        \
  CALL(required, int, cudnnDestroyConvolutionDescriptor, (void* desc))                            \
  CALL(required, int, cudnnGetConvolutionForwardAlgorithm_v7,                                     \
       (void* handle, void* x_desc, void* filter_desc, void* conv_desc, void* y_desc,             \
        int requested, int* returned, cudnnConvolutionFwdAlgoPerf* results))                      \
  CALL(optional, int, cudnnFindConvolutionForwardAlgorithm,                                       \
       (void* handle, void* x_desc, void* filter_desc, void* conv_desc, void* y_desc,             \
        int requested, int* returned, cudnnConvolutionFwdAlgoPerf* results))                      \
  CALL(required, int, cudnnGetConvolutionForwardWorkspaceSize,                                    \
       (void* handle, void* x_desc, void* filter_desc, void* conv_desc, void* y_desc, int algo,   \
        std::size_t* bytes))                                                                      \
  CALL(required, int, cudnnConvolutionForward,                                                    \
       (void* handle, const void* alpha, void* x_desc, const void* x, void* filter_desc,          \
        const void* filter, void* conv_desc, int algo, void* workspace,                           \
        std::size_t workspace_bytes, const void* beta, void* y_desc, void* y))                    \
  CALL(required, int, cudnnCreatePoolingDescriptor, (void** desc))                                \
  CALL(required, int, cudnnSetPooling2dDescriptor,                                                \
       (void* desc, int mode, int nan, int height, int width, int pad_h, int pad_w, int stride_h, \
        int stride_w))                                                                            \
  CALL(required, int, cudnnDestroyPoolingDescriptor, (void* desc))                                \
  CALL(required, int, cudnnPoolingForward,                                                        \
       (void* handle, void* pool_desc, const void* alpha, void* x_desc, const void* x,            \
        const void* beta, void* y_desc, void* y))
HIPTOOL_CALL_TABLE(CudnnCalls, HIPTOOL_CUDNN_CALLS);

}  // namespace hiptool::hip::nvidia
