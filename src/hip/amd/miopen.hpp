// SPDX-License-Identifier: MIT
/// The calls and numbers of MIOpen that are used, the same from ROCm 5.2 to 7.2 (miopen.h).
#pragma once
#include <cstddef>
#include <cstdint>

#include "hip/abi.hpp"
#include "hip/call_table.hpp"

namespace hiptool::hip::amd {

enum : int {
  miopenStatusSuccess = 0,
  miopenHalf = 0,
  miopenFloat = 1,
  miopenBFloat16 = 5,
  miopenDouble = 6,
  miopenConvolution = 0,
  miopenPoolingMax = 0,
  miopenPoolingAverage = 1,
};

struct miopenConvSolution {
  float time;
  std::size_t workspace_size;
  std::uint64_t solution_id;
  int algorithm;
};

#define HIPTOOL_MIOPEN_CALLS(CALL)                                                              \
  CALL(required, int, miopenGetVersion,                                                         \
       (std::size_t * major, std::size_t * minor, std::size_t * patch))                         \
  CALL(required, const char*, miopenGetErrorString, (int status))                               \
  CALL(required, int, miopenCreate, (void** handle))                                            \
  CALL(required, int, miopenDestroy, (void* handle))                                            \
  CALL(required, int, miopenSetStream, (void* handle, hipStream_t stream))                      \
  CALL(required, int, miopenCreateTensorDescriptor, (void** desc))                              \
  CALL(required, int, miopenSet4dTensorDescriptor,                                              \
       (void* desc, int type, int n, int c, int h, int w))                                      \
  CALL(required, int, miopenDestroyTensorDescriptor, (void* desc))                              \
  CALL(required, int, miopenCreateConvolutionDescriptor, (void** desc))                         \
  CALL(required, int, miopenInitConvolutionDescriptor,                                          \
       (void* desc, int mode, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h, \
        int dilation_w))                                                                        \
  CALL(required, int, miopenSetConvolutionGroupCount, (void* desc, int groups))                 \
  CALL(required, int, miopenDestroyConvolutionDescriptor, (void* desc))                         \
  CALL(required, int, miopenConvolutionForwardGetSolutionCount,                                 \
       (void* handle, void* filter_desc, void* x_desc, void* conv_desc, void* y_desc,           \
        std::size_t* count))                                                                    \
  CALL(required, int, miopenConvolutionForwardGetSolution,                                      \
       (void* handle, void* filter_desc, void* x_desc, void* conv_desc, void* y_desc,           \
        std::size_t most, std::size_t* count, miopenConvSolution* solutions))                   \
  CALL(required, int, miopenConvolutionForwardCompileSolution,                                  \
       (void* handle, void* filter_desc, void* x_desc, void* conv_desc, void* y_desc,           \
        std::uint64_t id))                                                                      \
  CALL(required, int, miopenConvolutionForwardImmediate,                                        \
       (void* handle, void* filter_desc, const void* filter, void* x_desc, const void* x,       \
        void* conv_desc, void* y_desc, void* y, void* workspace, std::size_t workspace_bytes,   \
        std::uint64_t id))                                                                      \
  CALL(required, int, miopenCreatePoolingDescriptor, (void** desc))                             \
  CALL(required, int, miopenSet2dPoolingDescriptor,                                             \
       (void* desc, int mode, int height, int width, int pad_h, int pad_w, int stride_h,        \
        int stride_w))                                                                          \
  CALL(required, int, miopenDestroyPoolingDescriptor, (void* desc))                             \
  CALL(required, int, miopenPoolingForward,                                                     \
       (void* handle, void* pool_desc, const void* alpha, void* x_desc, const void* x,          \
        const void* beta, void* y_desc, void* y, bool keeps_places, void* workspace,            \
        std::size_t workspace_bytes))
HIPTOOL_CALL_TABLE(MiopenCalls, HIPTOOL_MIOPEN_CALLS);

}  // namespace hiptool::hip::amd
