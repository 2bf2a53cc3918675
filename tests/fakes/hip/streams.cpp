// SPDX-License-Identifier: MIT
/// Streams and events. FAKE_HIP_HOST_FUNC is the answer of hipLaunchHostFunc where it is not 0.
#include <functional>
#include <memory>

#include "fakes/common/settings.hpp"
#include "fakes/hip/call.hpp"

using namespace hiptool::fake;

namespace {

void run_callback(void* data) {
  const std::unique_ptr<std::function<void()>> call(static_cast<std::function<void()>*>(data));
  (*call)();
}

}  // namespace

extern "C" {

hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  const hipError_t error = forward(&Api::hipStreamCreateWithFlags, stream, flags);
  if (error == hipSuccess) add_stream(*stream);
  return error;
}
hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority) {
  const hipError_t error = forward(&Api::hipStreamCreateWithPriority, stream, flags, priority);
  if (error == hipSuccess) add_stream(*stream);
  return error;
}
hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return forward(&Api::hipDeviceGetStreamPriorityRange, least, greatest);
}
hipError_t hipStreamDestroy(hipStream_t stream) {
  const hipError_t entered = enter_stream(stream);
  if (entered == hipSuccess) remove_stream(stream);
  return forward_after(entered, &Api::hipStreamDestroy, stream);
}
hipError_t hipStreamQuery(hipStream_t stream) {
  return forward_after(enter_stream(stream), &Api::hipStreamQuery, stream);
}
hipError_t hipStreamSynchronize(hipStream_t stream) {
  return forward_after(enter_stream(stream), &Api::hipStreamSynchronize, stream);
}
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags) {
  return forward_after(enter_stream(stream), &Api::hipStreamWaitEvent, stream, event, flags);
}
hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void* user_data) {
  if (const int error = number_from("FAKE_HIP_HOST_FUNC", 0); error != 0) {
    return static_cast<hipError_t>(error);
  }
  return forward_after(enter_stream(stream), &Api::hipLaunchHostFunc, stream, function, user_data);
}
hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void* user_data,
                                unsigned flags) {
  if (callback == nullptr || flags != 0) return hipErrorInvalidValue;
  const auto call = [=] { callback(stream, hipSuccess, user_data); };
  const hipError_t error =
      forward_after(enter_stream(stream), &Api::hipLaunchHostFunc, stream, run_callback,
                    static_cast<void*>(new std::function<void()>(call)));
  return error;
}

hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  return forward(&Api::hipEventCreateWithFlags, event, flags);
}
hipError_t hipEventDestroy(hipEvent_t event) { return forward(&Api::hipEventDestroy, event); }
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return forward_after(enter_stream(stream), &Api::hipEventRecord, event, stream);
}
hipError_t hipEventQuery(hipEvent_t event) { return forward(&Api::hipEventQuery, event); }
hipError_t hipEventSynchronize(hipEvent_t event) {
  return forward(&Api::hipEventSynchronize, event);
}
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  return forward(&Api::hipEventElapsedTime, milliseconds, start, stop);
}

}  // extern "C"
