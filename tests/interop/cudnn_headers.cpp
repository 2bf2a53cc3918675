// SPDX-License-Identifier: MIT
/// Our declarations of cuDNN against the vendor's headers.
#include <cudnn.h>

#include <cstddef>

#include "hip/nvidia/cudnn.hpp"
#include "hip/nvidia/cudnn_backend.hpp"
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
  check_blas_number<ours::CUDNN_POOLING_MAX, ::CUDNN_POOLING_MAX>();
  check_blas_number<ours::CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING,
                    ::CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING>();
  check_blas_number<ours::CUDNN_PROPAGATE_NAN, ::CUDNN_PROPAGATE_NAN>();
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
  check_blas_call<decltype(ours::CudnnCalls::cudnnCreatePoolingDescriptor),
                  decltype(&::cudnnCreatePoolingDescriptor)>();
  check_blas_call<decltype(ours::CudnnCalls::cudnnSetPooling2dDescriptor),
                  decltype(&::cudnnSetPooling2dDescriptor)>();
  check_blas_call<decltype(ours::CudnnCalls::cudnnDestroyPoolingDescriptor),
                  decltype(&::cudnnDestroyPoolingDescriptor)>();
  check_blas_call<decltype(ours::CudnnCalls::cudnnPoolingForward),
                  decltype(&::cudnnPoolingForward)>();
}

constexpr void check_graph_numbers() {
  check_blas_number<ours::CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR,
                    ::CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR>();
  check_blas_number<ours::CUDNN_BACKEND_ENGINE_DESCRIPTOR, ::CUDNN_BACKEND_ENGINE_DESCRIPTOR>();
  check_blas_number<ours::CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
                    ::CUDNN_BACKEND_ENGINECFG_DESCRIPTOR>();
  check_blas_number<ours::CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR,
                    ::CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR>();
  check_blas_number<ours::CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
                    ::CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR>();
  check_blas_number<ours::CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                    ::CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR>();
  check_blas_number<ours::CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR,
                    ::CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR>();
  check_blas_number<ours::CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR,
                    ::CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR>();
  check_blas_number<ours::CUDNN_BACKEND_TENSOR_DESCRIPTOR, ::CUDNN_BACKEND_TENSOR_DESCRIPTOR>();
  check_blas_number<ours::CUDNN_TYPE_HANDLE, ::CUDNN_TYPE_HANDLE>();
  check_blas_number<ours::CUDNN_TYPE_DATA_TYPE, ::CUDNN_TYPE_DATA_TYPE>();
  check_blas_number<ours::CUDNN_TYPE_INT64, ::CUDNN_TYPE_INT64>();
  check_blas_number<ours::CUDNN_TYPE_FLOAT, ::CUDNN_TYPE_FLOAT>();
  check_blas_number<ours::CUDNN_TYPE_DOUBLE, ::CUDNN_TYPE_DOUBLE>();
  check_blas_number<ours::CUDNN_TYPE_VOID_PTR, ::CUDNN_TYPE_VOID_PTR>();
  check_blas_number<ours::CUDNN_TYPE_CONVOLUTION_MODE, ::CUDNN_TYPE_CONVOLUTION_MODE>();
  check_blas_number<ours::CUDNN_TYPE_HEUR_MODE, ::CUDNN_TYPE_HEUR_MODE>();
  check_blas_number<ours::CUDNN_TYPE_NUMERICAL_NOTE, ::CUDNN_TYPE_NUMERICAL_NOTE>();
  check_blas_number<ours::CUDNN_TYPE_BACKEND_DESCRIPTOR, ::CUDNN_TYPE_BACKEND_DESCRIPTOR>();
  check_blas_number<ours::CUDNN_ATTR_CONVOLUTION_COMP_TYPE, ::CUDNN_ATTR_CONVOLUTION_COMP_TYPE>();
  check_blas_number<ours::CUDNN_ATTR_CONVOLUTION_CONV_MODE, ::CUDNN_ATTR_CONVOLUTION_CONV_MODE>();
  check_blas_number<ours::CUDNN_ATTR_CONVOLUTION_DILATIONS, ::CUDNN_ATTR_CONVOLUTION_DILATIONS>();
  check_blas_number<ours::CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
                    ::CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES>();
  check_blas_number<ours::CUDNN_ATTR_CONVOLUTION_POST_PADDINGS,
                    ::CUDNN_ATTR_CONVOLUTION_POST_PADDINGS>();
  check_blas_number<ours::CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS,
                    ::CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS>();
  check_blas_number<ours::CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS,
                    ::CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS>();
  check_blas_number<ours::CUDNN_ATTR_ENGINEHEUR_MODE, ::CUDNN_ATTR_ENGINEHEUR_MODE>();
  check_blas_number<ours::CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                    ::CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH>();
  check_blas_number<ours::CUDNN_ATTR_ENGINEHEUR_RESULTS, ::CUDNN_ATTR_ENGINEHEUR_RESULTS>();
  check_blas_number<ours::CUDNN_ATTR_ENGINECFG_ENGINE, ::CUDNN_ATTR_ENGINECFG_ENGINE>();
  check_blas_number<ours::CUDNN_ATTR_EXECUTION_PLAN_HANDLE, ::CUDNN_ATTR_EXECUTION_PLAN_HANDLE>();
  check_blas_number<ours::CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                    ::CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG>();
  check_blas_number<ours::CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                    ::CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE>();
  check_blas_number<ours::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                    ::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA>();
  check_blas_number<ours::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
                    ::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA>();
  check_blas_number<ours::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                    ::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC>();
  check_blas_number<ours::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                    ::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W>();
  check_blas_number<ours::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                    ::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X>();
  check_blas_number<ours::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                    ::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y>();
  check_blas_number<ours::CUDNN_ATTR_OPERATIONGRAPH_HANDLE, ::CUDNN_ATTR_OPERATIONGRAPH_HANDLE>();
  check_blas_number<ours::CUDNN_ATTR_OPERATIONGRAPH_OPS, ::CUDNN_ATTR_OPERATIONGRAPH_OPS>();
  check_blas_number<ours::CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, ::CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT>();
  check_blas_number<ours::CUDNN_ATTR_TENSOR_DATA_TYPE, ::CUDNN_ATTR_TENSOR_DATA_TYPE>();
  check_blas_number<ours::CUDNN_ATTR_TENSOR_DIMENSIONS, ::CUDNN_ATTR_TENSOR_DIMENSIONS>();
  check_blas_number<ours::CUDNN_ATTR_TENSOR_STRIDES, ::CUDNN_ATTR_TENSOR_STRIDES>();
  check_blas_number<ours::CUDNN_ATTR_TENSOR_UNIQUE_ID, ::CUDNN_ATTR_TENSOR_UNIQUE_ID>();
  check_blas_number<ours::CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS,
                    ::CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS>();
  check_blas_number<ours::CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                    ::CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS>();
  check_blas_number<ours::CUDNN_ATTR_VARIANT_PACK_WORKSPACE, ::CUDNN_ATTR_VARIANT_PACK_WORKSPACE>();
  check_blas_number<ours::CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, ::CUDNN_ATTR_ENGINE_NUMERICAL_NOTE>();
  check_blas_number<ours::CUDNN_NUMERICAL_NOTE_TENSOR_CORE, ::CUDNN_NUMERICAL_NOTE_TENSOR_CORE>();
  check_blas_number<ours::CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS,
                    ::CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS>();
  check_blas_number<ours::CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION,
                    ::CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION>();
  check_blas_number<ours::CUDNN_NUMERICAL_NOTE_FFT, ::CUDNN_NUMERICAL_NOTE_FFT>();
  check_blas_number<ours::CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC,
                    ::CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC>();
  check_blas_number<ours::CUDNN_NUMERICAL_NOTE_WINOGRAD, ::CUDNN_NUMERICAL_NOTE_WINOGRAD>();
  check_blas_number<ours::CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4,
                    ::CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4>();
  check_blas_number<ours::CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6,
                    ::CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6>();
  check_blas_number<ours::CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13,
                    ::CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13>();
  check_blas_number<ours::CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP,
                    ::CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP>();
  check_blas_number<ours::CUDNN_HEUR_MODE_INSTANT, ::CUDNN_HEUR_MODE_INSTANT>();
  check_blas_number<ours::CUDNN_HEUR_MODE_B, ::CUDNN_HEUR_MODE_B>();
  check_blas_number<ours::CUDNN_HEUR_MODE_FALLBACK, ::CUDNN_HEUR_MODE_FALLBACK>();
  check_blas_number<ours::CUDNN_HEUR_MODE_A, ::CUDNN_HEUR_MODE_A>();
}

constexpr void check_graph_calls() {
  check_blas_call<decltype(ours::CudnnBackendCalls::cudnnBackendCreateDescriptor),
                  decltype(&::cudnnBackendCreateDescriptor)>();
  check_blas_call<decltype(ours::CudnnBackendCalls::cudnnBackendDestroyDescriptor),
                  decltype(&::cudnnBackendDestroyDescriptor)>();
  check_blas_call<decltype(ours::CudnnBackendCalls::cudnnBackendSetAttribute),
                  decltype(&::cudnnBackendSetAttribute)>();
  check_blas_call<decltype(ours::CudnnBackendCalls::cudnnBackendGetAttribute),
                  decltype(&::cudnnBackendGetAttribute)>();
  check_blas_call<decltype(ours::CudnnBackendCalls::cudnnBackendFinalize),
                  decltype(&::cudnnBackendFinalize)>();
  check_blas_call<decltype(ours::CudnnBackendCalls::cudnnBackendExecute),
                  decltype(&::cudnnBackendExecute)>();
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
  check_graph_numbers();
  check_graph_calls();
}
