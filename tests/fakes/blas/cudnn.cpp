// SPDX-License-Identifier: MIT
/// The older interface of a fake libcudnn.so.9: the first algorithm needs 4096 bytes of workspace,
/// the second none. In the default mode f32 is computed in TF32, as the real one may do.
/// FAKE_CUDNN_CREATE is the answer of its start: 1001 is that of the real one without a GPU.
#include "hip/nvidia/cudnn.hpp"

#include <chrono>
#include <cstdlib>
#include <thread>

#include "fakes/blas/cudnn_state.hpp"
#include "fakes/blas/engine.hpp"
#include "fakes/common/settings.hpp"

using hiptool::hip::hipStream_t;
using namespace hiptool::hip::nvidia;  // the vendor's names, which this file is all about

namespace {

using hiptool::fake::cudnn_state;
using hiptool::hip::BlasCompute;
using hiptool::hip::BlasType;

constexpr int execution_failed = hiptool::fake::cudnn_execution_failed;
constexpr std::size_t first_bytes = 4096;

hiptool::fake::CudnnState the_state;

struct Tensor {
  int type = 0;
  int n = 0;
  int c = 0;
  int h = 0;
  int w = 0;
};

struct Conv {
  hiptool::hip::ConvCall call;
  int math = CUDNN_DEFAULT_MATH;
};

}  // namespace

namespace hiptool::fake {

CudnnState& cudnn_state() { return the_state; }

}  // namespace hiptool::fake

extern "C" {

int fake_cudnn_objects = 0;
int fake_cudnn_engine = 0;
hipStream_t fake_cudnn_stream() { return cudnn_state().stream; }

std::size_t cudnnGetVersion() {
  return static_cast<std::size_t>(hiptool::fake::reported_major(9)) * 10000 + 1900;
}
const char* cudnnGetErrorString(int status) {
  return status == CUDNN_STATUS_NOT_INITIALIZED ? "CUDNN_STATUS_NOT_INITIALIZED"
                                                : "CUDNN_STATUS_EXECUTION_FAILED";
}
int cudnnCreate(void** handle) {
  const int status = hiptool::fake::number_from("FAKE_CUDNN_CREATE", CUDNN_STATUS_SUCCESS);
  if (status == CUDNN_STATUS_SUCCESS) *handle = new int(0);
  return status;
}
int cudnnDestroy(void* handle) {
  delete static_cast<int*>(handle);
  return CUDNN_STATUS_SUCCESS;
}
int cudnnSetStream(void*, hipStream_t stream) {
  // Calls are counted for a stream, as those that choose an algorithm have one of their own.
  cudnn_state().faults.restart();
  cudnn_state().stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
int cudnnCreateTensorDescriptor(void** desc) {
  *desc = new Tensor;
  ++fake_cudnn_objects;
  return CUDNN_STATUS_SUCCESS;
}
int cudnnSetTensor4dDescriptor(void* desc, int, int type, int n, int c, int h, int w) {
  *static_cast<Tensor*>(desc) = {type, n, c, h, w};
  return CUDNN_STATUS_SUCCESS;
}
int cudnnDestroyTensorDescriptor(void* desc) {
  delete static_cast<Tensor*>(desc);
  --fake_cudnn_objects;
  return CUDNN_STATUS_SUCCESS;
}
int cudnnCreateFilterDescriptor(void** desc) { return cudnnCreateTensorDescriptor(desc); }
int cudnnSetFilter4dDescriptor(void* desc, int type, int, int k, int c, int h, int w) {
  *static_cast<Tensor*>(desc) = {type, k, c, h, w};
  return CUDNN_STATUS_SUCCESS;
}
int cudnnDestroyFilterDescriptor(void* desc) { return cudnnDestroyTensorDescriptor(desc); }
int cudnnCreateConvolutionDescriptor(void** desc) {
  *desc = new Conv;
  ++fake_cudnn_objects;
  return CUDNN_STATUS_SUCCESS;
}
int cudnnSetConvolution2dDescriptor(void* desc, int pad_h, int pad_w, int stride_h, int stride_w,
                                    int dilation_h, int dilation_w, int mode, int) {
  auto& call = static_cast<Conv*>(desc)->call;
  call.pad_h = pad_h;
  call.pad_w = pad_w;
  call.stride_h = stride_h;
  call.stride_w = stride_w;
  call.dilation_h = dilation_h;
  call.dilation_w = dilation_w;
  return mode == CUDNN_CROSS_CORRELATION ? CUDNN_STATUS_SUCCESS : execution_failed;
}
int cudnnSetConvolutionGroupCount(void* desc, int groups) {
  static_cast<Conv*>(desc)->call.groups = groups;
  return CUDNN_STATUS_SUCCESS;
}
int cudnnSetConvolutionMathType(void* desc, int math) {
  static_cast<Conv*>(desc)->math = math;
  return CUDNN_STATUS_SUCCESS;
}
int cudnnDestroyConvolutionDescriptor(void* desc) {
  delete static_cast<Conv*>(desc);
  --fake_cudnn_objects;
  return CUDNN_STATUS_SUCCESS;
}
int cudnnGetConvolutionForwardAlgorithm_v7(void*, void*, void*, void*, void*, int, int* returned,
                                           cudnnConvolutionFwdAlgoPerf* results) {
  *returned = 3;
  results[0] = {7, execution_failed, -1, 0, 0, 0, {}};  // one that cannot be used
  results[1] = {1, CUDNN_STATUS_SUCCESS, -1, first_bytes, 1, 0, {}};
  results[2] = {0, CUDNN_STATUS_SUCCESS, -1, 0, 1, 0, {}};
  return CUDNN_STATUS_SUCCESS;
}
/// Measured: the algorithm that the estimate takes for the second is the fastest.
int cudnnFindConvolutionForwardAlgorithm(void*, void*, void*, void*, void*, int, int* returned,
                                         cudnnConvolutionFwdAlgoPerf* results) {
  *returned = 3;
  results[0] = {CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, CUDNN_STATUS_SUCCESS, 0.05F, 0, 1, 0, {}};
  results[1] = {0, CUDNN_STATUS_SUCCESS, 0.1F, 0, 1, 0, {}};
  results[2] = {1, CUDNN_STATUS_SUCCESS, 0.2F, first_bytes, 1, 0, {}};
  return std::getenv("FAKE_CUDNN_FIND_FAILS") != nullptr ? execution_failed : CUDNN_STATUS_SUCCESS;
}
int cudnnGetConvolutionForwardWorkspaceSize(void*, void*, void*, void*, void*, int algo,
                                            std::size_t* bytes) {
  *bytes = algo == 1 ? first_bytes : 0;
  return CUDNN_STATUS_SUCCESS;
}
int cudnnConvolutionForward(void*, const void*, void* x_desc, const void* x, void* filter_desc,
                            const void* filter, void* conv_desc, int algo, void* workspace,
                            std::size_t workspace_bytes, const void*, void* y_desc, void* y) {
  if (cudnn_state().faults.enter()) return execution_failed;
  if (algo == 1 && (workspace == nullptr || workspace_bytes < first_bytes)) return execution_failed;
  const Tensor& in = *static_cast<Tensor*>(x_desc);
  const bool is_half = in.type == CUDNN_DATA_HALF || in.type == CUDNN_DATA_BFLOAT16;
  if (algo == CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD && is_half) return execution_failed;
  const Tensor& weights = *static_cast<Tensor*>(filter_desc);
  const Tensor& out = *static_cast<Tensor*>(y_desc);
  const Conv& conv = *static_cast<Conv*>(conv_desc);
  hiptool::hip::ConvCall call = conv.call;
  call.type = hiptool::fake::blas_type_of_cudnn(in.type);
  const bool is_tf32 = call.type == BlasType::f32 && conv.math != CUDNN_FMA_MATH;
  call.compute = call.type == BlasType::f64 ? BlasCompute::f64
                 : is_tf32                  ? BlasCompute::f32_fast_tf32
                                            : BlasCompute::f32;
  call.n = in.n;
  call.c = in.c;
  call.h = in.h;
  call.w = in.w;
  call.k = weights.n;
  call.r = weights.h;
  call.s = weights.w;
  call.x = x;
  call.filter = filter;
  call.y = y;
  call.stream = cudnn_state().stream;
  if (out.h != call.out_height() || out.w != call.out_width() || out.c != call.k) {
    return execution_failed;
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(15));
  fake_cudnn_engine = -1 - algo;
  hiptool::fake::convolve(call, cudnn_state().faults);
  return CUDNN_STATUS_SUCCESS;
}
int cudnnCreatePoolingDescriptor(void** desc) {
  *desc = new hiptool::hip::PoolCall;
  ++fake_cudnn_objects;
  return CUDNN_STATUS_SUCCESS;
}
int cudnnSetPooling2dDescriptor(void* desc, int mode, int nan, int height, int width, int pad_h,
                                int pad_w, int stride_h, int stride_w) {
  auto& call = *static_cast<hiptool::hip::PoolCall*>(desc);
  call.is_largest = mode == CUDNN_POOLING_MAX;
  call.r = height;
  call.s = width;
  call.stride_h = stride_h;
  call.stride_w = stride_w;
  const bool is_plain = pad_h == 0 && pad_w == 0 && nan == CUDNN_PROPAGATE_NAN;
  return is_plain ? CUDNN_STATUS_SUCCESS : execution_failed;
}
int cudnnDestroyPoolingDescriptor(void* desc) {
  delete static_cast<hiptool::hip::PoolCall*>(desc);
  --fake_cudnn_objects;
  return CUDNN_STATUS_SUCCESS;
}
int cudnnPoolingForward(void*, void* pool_desc, const void* alpha, void* x_desc, const void* x,
                        const void* beta, void* y_desc, void* y) {
  if (cudnn_state().faults.enter()) return execution_failed;
  if (*static_cast<const float*>(alpha) != 1 || *static_cast<const float*>(beta) != 0) {
    return execution_failed;
  }
  const Tensor& in = *static_cast<Tensor*>(x_desc);
  const Tensor& out = *static_cast<Tensor*>(y_desc);
  hiptool::hip::PoolCall call = *static_cast<hiptool::hip::PoolCall*>(pool_desc);
  call.type = hiptool::fake::blas_type_of_cudnn(in.type);
  call.n = in.n;
  call.c = in.c;
  call.h = in.h;
  call.w = in.w;
  call.x = x;
  call.y = y;
  call.stream = cudnn_state().stream;
  const bool fits = out.type == in.type && out.n == in.n && out.c == in.c &&
                    out.h == call.out_height() && out.w == call.out_width();
  if (!fits) return execution_failed;
  hiptool::fake::pool(call, cudnn_state().faults);
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
