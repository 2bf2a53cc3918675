// SPDX-License-Identifier: MIT
/// Streams and events. Calls with a handle need no context.
#include <memory>

#include "fakes/cuda/call.hpp"
#include "fakes/cuda/graphs.hpp"
#include "fakes/cuda/rates.hpp"

using namespace hiptool::fake;

namespace {

struct HostFunction {
  CUhostFn function;
  void* user_data;
};

void run_host_function(void* call) {
  const std::unique_ptr<HostFunction> own(static_cast<HostFunction*>(call));
  const HostFunctionScope scope;
  own->function(own->user_data);
}

/// After the stream exists and where it does not record.
CUresult enter_idle_stream(CUstream stream) {
  const CUresult entered = enter_stream(stream);
  return entered == CUDA_SUCCESS ? refuse_on(stream) : entered;
}

}  // namespace

extern "C" {

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  const CUresult result = forward(&Api::hipStreamCreateWithPriority, stream, flags, priority);
  if (result == CUDA_SUCCESS) add_stream(*stream);
  return result;
}
CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return cuStreamCreateWithPriority(stream, flags, 0);
}
CUresult cuStreamDestroy_v2(CUstream stream) {
  const CUresult entered = enter_stream(stream);
  if (entered == CUDA_SUCCESS) remove_stream(stream);
  return forward_after(entered, &Api::hipStreamDestroy, stream);
}
CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  const CUresult entered = enter_stream(stream);
  if (entered == CUDA_SUCCESS) {
    *context = stream != nullptr ? context_of(stream) : current_context();
  }
  return entered;
}
CUresult cuStreamQuery(CUstream stream) {
  return forward_after(enter_idle_stream(stream), &Api::hipStreamQuery, stream);
}
CUresult cuStreamSynchronize(CUstream stream) {
  return forward_after(enter_idle_stream(stream), &Api::hipStreamSynchronize, stream);
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  return forward_after(enter_idle_stream(stream), &Api::hipStreamWaitEvent, stream, event, flags);
}
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* user_data) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (is_recording(stream)) {
    return record(stream, [=](CUstream on) { return cuLaunchHostFunc(on, function, user_data); });
  }
  auto call = std::make_unique<HostFunction>(HostFunction{function, user_data});
  const CUresult result = forward_after(enter_stream(stream), &Api::hipLaunchHostFunc, stream,
                                        &run_host_function, static_cast<void*>(call.get()));
  if (result == CUDA_SUCCESS) call.release();  // the function owns it now
  return result;
}
/// HIP's flags of its own are unknown here.
CUresult cuEventCreate(CUevent* event, unsigned flags) {
  constexpr unsigned known = 7;
  state().event_flags = flags;
  const CUresult entered = enter_context();
  const bool is_known = (flags & ~known) == 0;
  return forward_after(entered != CUDA_SUCCESS || is_known ? entered : CUDA_ERROR_INVALID_VALUE,
                       &Api::hipEventCreateWithFlags, event, flags);
}
CUresult cuEventDestroy_v2(CUevent event) {
  return forward_after(enter(), &Api::hipEventDestroy, event);
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  plant_event(event, stream);
  return forward_after(enter_idle_stream(stream), &Api::hipEventRecord, event, stream);
}
CUresult cuEventQuery(CUevent event) { return forward_after(enter(), &Api::hipEventQuery, event); }
CUresult cuEventSynchronize(CUevent event) {
  return forward_after(enter(), &Api::hipEventSynchronize, event);
}
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent stop) {
  const CUresult result =
      forward_after(enter(), &Api::hipEventElapsedTime, milliseconds, start, stop);
  const auto planted = result == CUDA_SUCCESS ? planted_milliseconds(start, stop) : std::nullopt;
  if (planted) *milliseconds = *planted;
  return result;
}

}  // extern "C"
