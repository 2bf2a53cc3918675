// SPDX-License-Identifier: MIT
/// Our declarations of cuDNN against the vendor's header.
#include <cudnn.h>

#include <cstddef>

#include "hip/nvidia/cudnn.hpp"
#include "interop/blas_headers.hpp"

using hiptool::test::check_blas_call;
using hiptool::test::check_blas_number;

namespace {

namespace ours = hiptool::hip::nvidia;

constexpr void check_cudnn_numbers() {
  check_blas_number<ours::CUDNN_STATUS_SUCCESS, ::CUDNN_STATUS_SUCCESS>();
  check_blas_number<ours::CUDNN_STATUS_NOT_INITIALIZED, ::CUDNN_STATUS_NOT_INITIALIZED>();
  check_blas_number<ours::CUDNN_TENSOR_NCHW, ::CUDNN_TENSOR_NCHW>();
  check_blas_number<ours::CUDNN_DATA_FLOAT, ::CUDNN_DATA_FLOAT>();
  check_blas_number<ours::CUDNN_DATA_DOUBLE, ::CUDNN_DATA_DOUBLE>();
  check_blas_number<ours::CUDNN_DATA_HALF, ::CUDNN_DATA_HALF>();
  check_blas_number<ours::CUDNN_DATA_BFLOAT16, ::CUDNN_DATA_BFLOAT16>();
  check_blas_number<ours::CUDNN_CROSS_CORRELATION, ::CUDNN_CROSS_CORRELATION>();
  check_blas_number<ours::CUDNN_DEFAULT_MATH, ::CUDNN_DEFAULT_MATH>();
  check_blas_number<ours::CUDNN_TENSOR_OP_MATH, ::CUDNN_TENSOR_OP_MATH>();
  check_blas_number<ours::CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION,
                    ::CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION>();
  check_blas_number<ours::CUDNN_FMA_MATH, ::CUDNN_FMA_MATH>();
  check_blas_number<ours::CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD,
                    ::CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD>();
  check_blas_number<ours::CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED,
                    ::CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED>();
  check_blas_number<ours::CUDNN_CONVOLUTION_FWD_ALGO_COUNT, ::CUDNN_CONVOLUTION_FWD_ALGO_COUNT>();
}

constexpr void check_cudnn_calls() {
  check_blas_call<decltype(ours::CudnnCalls::cudnnGetVersion), decltype(&::cudnnGetVersion)>();
  check_blas_call<decltype(ours::CudnnCalls::cudnnGetErrorString),
                  decltype(&::cudnnGetErrorString)>();
  check_blas_call<decltype(ours::CudnnCalls::cudnnCreate), decltype(&::cudnnCreate)>();
  check_blas_call<decltype(ours::CudnnCalls::cudnnDestroy), decltype(&::cudnnDestroy)>();
  check_blas_call<decltype(ours::CudnnCalls::cudnnSetStream), decltype(&::cudnnSetStream)>();
  check_blas_call<decltype(ours::CudnnCalls::cudnnCreateTensorDescriptor),
                  decltype(&::cudnnCreateTensorDescriptor)>();
  check_blas_call<decltype(ours::CudnnCalls::cudnnSetTensor4dDescriptor),
                  decltype(&::cudnnSetTensor4dDescriptor)>();
  check_blas_call<decltype(ours::CudnnCalls::cudnnDestroyTensorDescriptor),
                  decltype(&::cudnnDestroyTensorDescriptor)>();
  check_blas_call<decltype(ours::CudnnCalls::cudnnCreateFilterDescriptor),
                  decltype(&::cudnnCreateFilterDescriptor)>();
  check_blas_call<decltype(ours::CudnnCalls::cudnnSetFilter4dDescriptor),
                  decltype(&::cudnnSetFilter4dDescriptor)>();
  check_blas_call<decltype(ours::CudnnCalls::cudnnDestroyFilterDescriptor),
                  decltype(&::cudnnDestroyFilterDescriptor)>();
  check_blas_call<decltype(ours::CudnnCalls::cudnnCreateConvolutionDescriptor),
                  decltype(&::cudnnCreateConvolutionDescriptor)>();
  check_blas_call<decltype(ours::CudnnCalls::cudnnSetConvolution2dDescriptor),
                  decltype(&::cudnnSetConvolution2dDescriptor)>();
  check_blas_call<decltype(ours::CudnnCalls::cudnnSetConvolutionGroupCount),
                  decltype(&::cudnnSetConvolutionGroupCount)>();
  check_blas_call<decltype(ours::CudnnCalls::cudnnSetConvolutionMathType),
                  decltype(&::cudnnSetConvolutionMathType)>();
  check_blas_call<decltype(ours::CudnnCalls::cudnnDestroyConvolutionDescriptor),
                  decltype(&::cudnnDestroyConvolutionDescriptor)>();
  check_blas_call<decltype(ours::CudnnCalls::cudnnFindConvolutionForwardAlgorithm),
                  decltype(&::cudnnFindConvolutionForwardAlgorithm)>();
  check_blas_call<decltype(ours::CudnnCalls::cudnnGetConvolutionForwardAlgorithm_v7),
                  decltype(&::cudnnGetConvolutionForwardAlgorithm_v7)>();
  check_blas_call<decltype(ours::CudnnCalls::cudnnGetConvolutionForwardWorkspaceSize),
                  decltype(&::cudnnGetConvolutionForwardWorkspaceSize)>();
  check_blas_call<decltype(ours::CudnnCalls::cudnnConvolutionForward),
                  decltype(&::cudnnConvolutionForward)>();
}

using CudnnResult = ::cudnnConvolutionFwdAlgoPerf_t;
using OurResult = ours::cudnnConvolutionFwdAlgoPerf;
static_assert(offsetof(CudnnResult, algo) == offsetof(OurResult, algo));
static_assert(offsetof(CudnnResult, status) == offsetof(OurResult, status));
static_assert(offsetof(CudnnResult, memory) == offsetof(OurResult, memory));
static_assert(offsetof(CudnnResult, mathType) == offsetof(OurResult, mathType));
static_assert(sizeof(CudnnResult) == sizeof(OurResult));

}  // namespace

int main() {
  check_cudnn_numbers();
  check_cudnn_calls();
}
