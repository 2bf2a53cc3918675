// SPDX-License-Identifier: MIT
/// The calls and numbers of MIOpen that are used, the same from ROCm 5.2 to 7.2 (miopen.h).
#pragma once
#include <cstddef>
#include <cstdint>

#include "hip/abi.hpp"

namespace hiptool::hip::amd {

enum : int {
  miopenStatusSuccess = 0,
  miopenHalf = 0,
  miopenFloat = 1,
  miopenBFloat16 = 5,
  miopenDouble = 6,
  miopenConvolution = 0,
};

struct miopenConvSolution {
  float time;
  std::size_t workspace_size;
  std::uint64_t solution_id;
  int algorithm;
};

struct MiopenCalls {
  int (*miopenGetVersion)(std::size_t* major, std::size_t* minor, std::size_t* patch);
  const char* (*miopenGetErrorString)(int status);
  int (*miopenCreate)(void** handle);
  int (*miopenDestroy)(void* handle);
  int (*miopenSetStream)(void* handle, hipStream_t stream);
  int (*miopenCreateTensorDescriptor)(void** desc);
  int (*miopenSet4dTensorDescriptor)(void* desc, int type, int n, int c, int h, int w);
  int (*miopenDestroyTensorDescriptor)(void* desc);
  int (*miopenCreateConvolutionDescriptor)(void** desc);
  int (*miopenInitConvolutionDescriptor)(void* desc, int mode, int pad_h, int pad_w, int stride_h,
                                         int stride_w, int dilation_h, int dilation_w);
  int (*miopenSetConvolutionGroupCount)(void* desc, int groups);
  int (*miopenDestroyConvolutionDescriptor)(void* desc);
  int (*miopenConvolutionForwardGetSolutionCount)(void* handle, void* filter_desc, void* x_desc,
                                                  void* conv_desc, void* y_desc,
                                                  std::size_t* count);
  int (*miopenConvolutionForwardGetSolution)(void* handle, void* filter_desc, void* x_desc,
                                             void* conv_desc, void* y_desc, std::size_t most,
                                             std::size_t* count, miopenConvSolution* solutions);
  int (*miopenConvolutionForwardCompileSolution)(void* handle, void* filter_desc, void* x_desc,
                                                 void* conv_desc, void* y_desc, std::uint64_t id);
  int (*miopenConvolutionForwardImmediate)(void* handle, void* filter_desc, const void* filter,
                                           void* x_desc, const void* x, void* conv_desc,
                                           void* y_desc, void* y, void* workspace,
                                           std::size_t workspace_bytes, std::uint64_t id);
};

/// Calls visit(member, name, is_required) for each call.
template <class Visit>
void for_each_miopen_call(const Visit& visit) {
  visit(&MiopenCalls::miopenGetVersion, "miopenGetVersion", true);
  visit(&MiopenCalls::miopenGetErrorString, "miopenGetErrorString", true);
  visit(&MiopenCalls::miopenCreate, "miopenCreate", true);
  visit(&MiopenCalls::miopenDestroy, "miopenDestroy", true);
  visit(&MiopenCalls::miopenSetStream, "miopenSetStream", true);
  visit(&MiopenCalls::miopenCreateTensorDescriptor, "miopenCreateTensorDescriptor", true);
  visit(&MiopenCalls::miopenSet4dTensorDescriptor, "miopenSet4dTensorDescriptor", true);
  visit(&MiopenCalls::miopenDestroyTensorDescriptor, "miopenDestroyTensorDescriptor", true);
  visit(&MiopenCalls::miopenCreateConvolutionDescriptor, "miopenCreateConvolutionDescriptor", true);
  visit(&MiopenCalls::miopenInitConvolutionDescriptor, "miopenInitConvolutionDescriptor", true);
  visit(&MiopenCalls::miopenSetConvolutionGroupCount, "miopenSetConvolutionGroupCount", true);
  visit(&MiopenCalls::miopenDestroyConvolutionDescriptor, "miopenDestroyConvolutionDescriptor",
        true);
  visit(&MiopenCalls::miopenConvolutionForwardGetSolutionCount,
        "miopenConvolutionForwardGetSolutionCount", true);
  visit(&MiopenCalls::miopenConvolutionForwardGetSolution, "miopenConvolutionForwardGetSolution",
        true);
  visit(&MiopenCalls::miopenConvolutionForwardCompileSolution,
        "miopenConvolutionForwardCompileSolution", true);
  visit(&MiopenCalls::miopenConvolutionForwardImmediate, "miopenConvolutionForwardImmediate", true);
}

}  // namespace hiptool::hip::amd
