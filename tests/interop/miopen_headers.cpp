// SPDX-License-Identifier: MIT
/// Our declarations of MIOpen against the vendor's header.
// Ours come first: the vendor's header of HIP turns names into macros.
#include "hip/amd/miopen.hpp"
#include "interop/blas_headers.hpp"

#include <miopen/miopen.h>

#include <cstddef>

using hiptool::test::check_blas_call;
using hiptool::test::check_blas_number;

namespace {

namespace ours = hiptool::hip::amd;

constexpr void check_miopen_numbers() {
  check_blas_number<ours::miopenStatusSuccess, ::miopenStatusSuccess>();
  check_blas_number<ours::miopenHalf, ::miopenHalf>();
  check_blas_number<ours::miopenFloat, ::miopenFloat>();
  check_blas_number<ours::miopenBFloat16, ::miopenBFloat16>();
  check_blas_number<ours::miopenDouble, ::miopenDouble>();
  check_blas_number<ours::miopenConvolution, ::miopenConvolution>();
  check_blas_number<ours::miopenPoolingMax, ::miopenPoolingMax>();
  check_blas_number<ours::miopenPoolingAverage, ::miopenPoolingAverage>();
}

constexpr void check_miopen_calls() {
  check_blas_call<decltype(ours::MiopenCalls::miopenGetVersion), decltype(&::miopenGetVersion)>();
  check_blas_call<decltype(ours::MiopenCalls::miopenGetErrorString),
                  decltype(&::miopenGetErrorString)>();
  check_blas_call<decltype(ours::MiopenCalls::miopenCreate), decltype(&::miopenCreate)>();
  check_blas_call<decltype(ours::MiopenCalls::miopenDestroy), decltype(&::miopenDestroy)>();
  check_blas_call<decltype(ours::MiopenCalls::miopenSetStream), decltype(&::miopenSetStream)>();
  check_blas_call<decltype(ours::MiopenCalls::miopenCreateTensorDescriptor),
                  decltype(&::miopenCreateTensorDescriptor)>();
  check_blas_call<decltype(ours::MiopenCalls::miopenSet4dTensorDescriptor),
                  decltype(&::miopenSet4dTensorDescriptor)>();
  check_blas_call<decltype(ours::MiopenCalls::miopenDestroyTensorDescriptor),
                  decltype(&::miopenDestroyTensorDescriptor)>();
  check_blas_call<decltype(ours::MiopenCalls::miopenCreateConvolutionDescriptor),
                  decltype(&::miopenCreateConvolutionDescriptor)>();
  check_blas_call<decltype(ours::MiopenCalls::miopenInitConvolutionDescriptor),
                  decltype(&::miopenInitConvolutionDescriptor)>();
  check_blas_call<decltype(ours::MiopenCalls::miopenSetConvolutionGroupCount),
                  decltype(&::miopenSetConvolutionGroupCount)>();
  check_blas_call<decltype(ours::MiopenCalls::miopenDestroyConvolutionDescriptor),
                  decltype(&::miopenDestroyConvolutionDescriptor)>();
  check_blas_call<decltype(ours::MiopenCalls::miopenConvolutionForwardGetSolutionCount),
                  decltype(&::miopenConvolutionForwardGetSolutionCount)>();
  check_blas_call<decltype(ours::MiopenCalls::miopenConvolutionForwardGetSolution),
                  decltype(&::miopenConvolutionForwardGetSolution)>();
  check_blas_call<decltype(ours::MiopenCalls::miopenConvolutionForwardCompileSolution),
                  decltype(&::miopenConvolutionForwardCompileSolution)>();
  check_blas_call<decltype(ours::MiopenCalls::miopenConvolutionForwardImmediate),
                  decltype(&::miopenConvolutionForwardImmediate)>();
  check_blas_call<decltype(ours::MiopenCalls::miopenCreatePoolingDescriptor),
                  decltype(&::miopenCreatePoolingDescriptor)>();
  check_blas_call<decltype(ours::MiopenCalls::miopenSet2dPoolingDescriptor),
                  decltype(&::miopenSet2dPoolingDescriptor)>();
  check_blas_call<decltype(ours::MiopenCalls::miopenDestroyPoolingDescriptor),
                  decltype(&::miopenDestroyPoolingDescriptor)>();
  check_blas_call<decltype(ours::MiopenCalls::miopenPoolingForward),
                  decltype(&::miopenPoolingForward)>();
}

using OurSolution = ours::miopenConvSolution;
static_assert(offsetof(miopenConvSolution_t, workspace_size) ==
              offsetof(OurSolution, workspace_size));
static_assert(offsetof(miopenConvSolution_t, solution_id) == offsetof(OurSolution, solution_id));
static_assert(sizeof(miopenConvSolution_t) == sizeof(OurSolution));

}  // namespace

int main() {
  check_miopen_numbers();
  check_miopen_calls();
}
