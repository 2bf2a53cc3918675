// SPDX-License-Identifier: MIT
/// How each call of the fake libcuda.so.1 enters and leaves: contexts, as measured on a
/// real driver (580, one H200).
#pragma once
#include "fakes/common/inner.hpp"
#include "fakes/cuda/state.hpp"
#include "hip/nvidia/cuda.hpp"

namespace hiptool::fake {

using hip::Api;
using namespace hip::nvidia;  // CUDA's names, which these files are all about

test::FakeCudaState& state();

/// FAKE_CUDA_DEVICES (2), read again by cuInit and cuDeviceGetCount only.
int device_count();
void count_devices();
void note_initialized();

/// 3 before cuInit, 800 inside a host function; 101 for a device that is none.
CUresult enter();
CUresult enter_device(CUdevice device);

/// 201 where the thread has no current context. A retained one is not current by that.
CUresult enter_context();
CUcontext current_context();
void make_current(CUcontext context);
CUcontext primary_context(CUdevice device);
int ordinal_of(CUcontext context);

/// The null stream belongs to the current context; a handle needs none.
CUresult enter_stream(CUstream stream);
void add_stream(CUstream stream);
void remove_stream(CUstream stream);
/// Null for a stream that does not exist.
CUcontext context_of(CUstream stream);

/// While it lives, the thread runs a host function, which may not call the driver.
class HostFunctionScope {
 public:
  HostFunctionScope();
  ~HostFunctionScope();
  HostFunctionScope(const HostFunctionScope&) = delete;
  HostFunctionScope& operator=(const HostFunctionScope&) = delete;
};

/// The inner platform's numbers are CUDA's, but for one.
inline CUresult to_cuda(hip::hipError_t error) {
  return error == hip::hipErrorInvalidConfiguration ? CUDA_ERROR_INVALID_VALUE
                                                    : static_cast<CUresult>(error);
}

template <class... Parameters, class... Arguments>
CUresult forward_after(CUresult entered, hip::hipError_t (*Api::*call)(Parameters...),
                       Arguments... arguments) {
  return entered == CUDA_SUCCESS ? to_cuda((inner().*call)(arguments...)) : entered;
}

/// After enter_context().
template <class... Parameters, class... Arguments>
CUresult forward(hip::hipError_t (*Api::*call)(Parameters...), Arguments... arguments) {
  return forward_after(enter_context(), call, arguments...);
}

}  // namespace hiptool::fake
