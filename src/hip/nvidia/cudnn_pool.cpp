// SPDX-License-Identifier: MIT
#include "hip/nvidia/cudnn_pool.hpp"

#include "hip/nvidia/cudnn_types.hpp"

namespace hiptool::hip::nvidia {
namespace {

/// The descriptors of one pooling, which are cheap to make.
struct CudnnPool {
  explicit CudnnPool(const CudnnCalls& calls) : calls(calls) {}
  ~CudnnPool() {
    for (void* desc : {x, y}) {
      if (desc != nullptr) calls.cudnnDestroyTensorDescriptor(desc);
    }
    if (pool != nullptr) calls.cudnnDestroyPoolingDescriptor(pool);
  }
  CudnnPool(const CudnnPool&) = delete;
  CudnnPool& operator=(const CudnnPool&) = delete;

  int describe(const PoolCall& call) {
    const auto size = [](std::int64_t number) { return static_cast<int>(number); };
    const int type = cudnn_type(call.type);
    const int mode =
        call.is_largest ? CUDNN_POOLING_MAX : CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING;
    int status = calls.cudnnCreateTensorDescriptor(&x);
    const auto then = [&](const auto& step) {
      if (status == CUDNN_STATUS_SUCCESS) status = step();
    };
    then([&] {
      return calls.cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NCHW, type, size(call.n),
                                              size(call.c), size(call.h), size(call.w));
    });
    then([&] { return calls.cudnnCreateTensorDescriptor(&y); });
    then([&] {
      return calls.cudnnSetTensor4dDescriptor(y, CUDNN_TENSOR_NCHW, type, size(call.n),
                                              size(call.c), size(call.out_height()),
                                              size(call.out_width()));
    });
    then([&] { return calls.cudnnCreatePoolingDescriptor(&pool); });
    then([&] {
      return calls.cudnnSetPooling2dDescriptor(pool, mode, CUDNN_PROPAGATE_NAN, size(call.r),
                                               size(call.s), 0, 0, size(call.stride_h),
                                               size(call.stride_w));
    });
    return status;
  }

  const CudnnCalls& calls;
  void* x = nullptr;
  void* y = nullptr;
  void* pool = nullptr;
};

}  // namespace

int pool_by_cudnn(const CudnnCalls& calls, void* handle, const PoolCall& call) {
  CudnnPool all(calls);
  const int status = all.describe(call);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  const float one = 1;  // also of halves
  const float zero = 0;
  return calls.cudnnPoolingForward(handle, all.pool, &one, all.x, call.x, &zero, all.y, call.y);
}

}  // namespace hiptool::hip::nvidia
