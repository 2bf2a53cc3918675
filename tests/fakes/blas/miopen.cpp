// SPDX-License-Identifier: MIT
/// A fake libMIOpen.so.1: the first solution needs 4096 bytes of workspace, the second none.
#include "hip/amd/miopen.hpp"
#include "fakes/blas/engine.hpp"

using hiptool::hip::hipStream_t;
using namespace hiptool::hip::amd;  // the vendor's names, which this file is all about

namespace {

using hiptool::hip::BlasCompute;
using hiptool::hip::BlasType;

hiptool::fake::Faults faults("MIOPEN");

constexpr int internal_error = 5;
constexpr std::uint64_t first_id = 85;
constexpr std::size_t first_bytes = 4096;

struct Tensor {
  int type = 0;
  int n = 0;
  int c = 0;
  int h = 0;
  int w = 0;
};

BlasType type_of(int type) {
  switch (type) {
    case miopenDouble: return BlasType::f64;
    case miopenHalf: return BlasType::f16;
    case miopenBFloat16: return BlasType::bf16;
    default: return BlasType::f32;
  }
}

hipStream_t the_stream = nullptr;

}  // namespace

extern "C" {

int fake_miopen_objects = 0;
int fake_miopen_compiled = 0;

int miopenGetVersion(std::size_t* major, std::size_t* minor, std::size_t* patch) {
  *major = static_cast<std::size_t>(hiptool::fake::reported_major(3));
  *minor = 5;
  *patch = 1;
  return miopenStatusSuccess;
}
const char* miopenGetErrorString(int status) {
  return status == internal_error ? "miopenStatusInternalError" : "miopenStatusUnknownError";
}
int miopenCreate(void** handle) {
  *handle = new int(0);
  return miopenStatusSuccess;
}
int miopenDestroy(void* handle) {
  delete static_cast<int*>(handle);
  return miopenStatusSuccess;
}
int miopenSetStream(void*, hipStream_t stream) {
  the_stream = stream;
  return miopenStatusSuccess;
}
int miopenCreateTensorDescriptor(void** desc) {
  *desc = new Tensor;
  ++fake_miopen_objects;
  return miopenStatusSuccess;
}
int miopenSet4dTensorDescriptor(void* desc, int type, int n, int c, int h, int w) {
  *static_cast<Tensor*>(desc) = {type, n, c, h, w};
  return miopenStatusSuccess;
}
int miopenDestroyTensorDescriptor(void* desc) {
  delete static_cast<Tensor*>(desc);
  --fake_miopen_objects;
  return miopenStatusSuccess;
}
int miopenCreateConvolutionDescriptor(void** desc) {
  *desc = new hiptool::hip::ConvCall;
  ++fake_miopen_objects;
  return miopenStatusSuccess;
}
int miopenInitConvolutionDescriptor(void* desc, int, int pad_h, int pad_w, int stride_h,
                                    int stride_w, int dilation_h, int dilation_w) {
  auto& call = *static_cast<hiptool::hip::ConvCall*>(desc);
  call.pad_h = pad_h;
  call.pad_w = pad_w;
  call.stride_h = stride_h;
  call.stride_w = stride_w;
  call.dilation_h = dilation_h;
  call.dilation_w = dilation_w;
  return miopenStatusSuccess;
}
int miopenSetConvolutionGroupCount(void* desc, int groups) {
  static_cast<hiptool::hip::ConvCall*>(desc)->groups = groups;
  return miopenStatusSuccess;
}
int miopenDestroyConvolutionDescriptor(void* desc) {
  delete static_cast<hiptool::hip::ConvCall*>(desc);
  --fake_miopen_objects;
  return miopenStatusSuccess;
}
int miopenConvolutionForwardGetSolutionCount(void*, void*, void*, void*, void*,
                                             std::size_t* count) {
  *count = 2;
  return miopenStatusSuccess;
}
int miopenConvolutionForwardGetSolution(void*, void*, void*, void*, void*, std::size_t most,
                                        std::size_t* count, miopenConvSolution* solutions) {
  *count = 2;
  if (most < 2) return internal_error;
  solutions[0] = {0.5F, first_bytes, first_id, 0};
  solutions[1] = {0.9F, 0, first_id + 1, 0};
  return miopenStatusSuccess;
}
int miopenConvolutionForwardCompileSolution(void*, void*, void*, void*, void*, std::uint64_t id) {
  ++fake_miopen_compiled;
  return id == first_id || id == first_id + 1 ? miopenStatusSuccess : internal_error;
}
int miopenConvolutionForwardImmediate(void*, void* filter_desc, const void* filter, void* x_desc,
                                      const void* x, void* conv_desc, void* y_desc, void* y,
                                      void* workspace, std::size_t workspace_bytes,
                                      std::uint64_t id) {
  if (faults.enter()) return internal_error;
  if (id == first_id && (workspace == nullptr || workspace_bytes < first_bytes))
    return internal_error;
  const Tensor& in = *static_cast<Tensor*>(x_desc);
  const Tensor& weights = *static_cast<Tensor*>(filter_desc);
  const Tensor& out = *static_cast<Tensor*>(y_desc);
  hiptool::hip::ConvCall call = *static_cast<hiptool::hip::ConvCall*>(conv_desc);
  call.type = type_of(in.type);
  call.compute = call.type == BlasType::f64 ? BlasCompute::f64 : BlasCompute::f32;
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
  call.stream = the_stream;
  if (out.h != call.out_height() || out.w != call.out_width() || out.c != call.k) {
    return internal_error;
  }
  hiptool::fake::convolve(call, faults);
  return miopenStatusSuccess;
}
int miopenCreatePoolingDescriptor(void** desc) {
  *desc = new hiptool::hip::PoolCall;
  ++fake_miopen_objects;
  return miopenStatusSuccess;
}
int miopenSet2dPoolingDescriptor(void* desc, int mode, int height, int width, int pad_h, int pad_w,
                                 int stride_h, int stride_w) {
  auto& call = *static_cast<hiptool::hip::PoolCall*>(desc);
  call.is_largest = mode == miopenPoolingMax;
  call.r = height;
  call.s = width;
  call.stride_h = stride_h;
  call.stride_w = stride_w;
  return pad_h == 0 && pad_w == 0 ? miopenStatusSuccess : internal_error;
}
int miopenDestroyPoolingDescriptor(void* desc) {
  delete static_cast<hiptool::hip::PoolCall*>(desc);
  --fake_miopen_objects;
  return miopenStatusSuccess;
}
int miopenPoolingForward(void*, void* pool_desc, const void* alpha, void* x_desc, const void* x,
                         const void* beta, void* y_desc, void* y, bool keeps_places, void*,
                         std::size_t) {
  if (faults.enter() || keeps_places) return internal_error;
  if (*static_cast<const float*>(alpha) != 1 || *static_cast<const float*>(beta) != 0) {
    return internal_error;
  }
  const Tensor& in = *static_cast<Tensor*>(x_desc);
  const Tensor& out = *static_cast<Tensor*>(y_desc);
  hiptool::hip::PoolCall call = *static_cast<hiptool::hip::PoolCall*>(pool_desc);
  call.type = type_of(in.type);
  call.n = in.n;
  call.c = in.c;
  call.h = in.h;
  call.w = in.w;
  call.x = x;
  call.y = y;
  call.stream = the_stream;
  const bool fits = out.type == in.type && out.n == in.n && out.c == in.c &&
                    out.h == call.out_height() && out.w == call.out_width();
  if (!fits) return internal_error;
  hiptool::fake::pool(call, faults);
  return miopenStatusSuccess;
}

}  // extern "C"
