// SPDX-License-Identifier: MIT
#include "hip/nvidia/calls.hpp"
#include "hip/nvidia/driver.hpp"

namespace hiptool::hip::nvidia {
namespace {

/// HIP's event flags above these three choose AMD's kinds of cache release.
constexpr unsigned event_mask = 7;

hipError_t create_stream(hipStream_t* stream, unsigned flags) {
  if (stream == nullptr) return hipErrorInvalidValue;
  return call_after(enter_device(), [=] { return cuda().cuStreamCreate(stream, flags); });
}

hipError_t create_stream_with_priority(hipStream_t* stream, unsigned flags, int priority) {
  if (stream == nullptr) return hipErrorInvalidValue;
  return call_after(enter_device(),
                    [=] { return cuda().cuStreamCreateWithPriority(stream, flags, priority); });
}

hipError_t get_priority_range(int* least, int* greatest) {
  return call_after(enter_device(),
                    [=] { return cuda().cuCtxGetStreamPriorityRange(least, greatest); });
}

hipError_t destroy_stream(hipStream_t stream) {
  if (is_pseudo_stream(stream)) return hipErrorInvalidHandle;
  return translate(cuda().cuStreamDestroy_v2(stream));
}

hipError_t query_stream(hipStream_t stream) {
  return call_after(enter_null_stream(stream), [=] { return cuda().cuStreamQuery(stream); });
}

hipError_t synchronize_stream(hipStream_t stream) {
  return call_after(enter_null_stream(stream), [=] { return cuda().cuStreamSynchronize(stream); });
}

hipError_t wait_event(hipStream_t stream, hipEvent_t event, unsigned flags) {
  if (event == nullptr) return hipErrorInvalidHandle;
  return call_after(enter_null_stream(stream),
                    [=] { return cuda().cuStreamWaitEvent(stream, event, flags); });
}

hipError_t launch_host_function(hipStream_t stream, hipHostFn_t function, void* user_data) {
  if (function == nullptr) return hipErrorInvalidValue;
  return call_after(enter_stream(stream),
                    [=] { return cuda().cuLaunchHostFunc(stream, function, user_data); });
}

hipError_t create_event(hipEvent_t* event, unsigned flags) {
  if (event == nullptr) return hipErrorInvalidValue;
  return call_after(enter_device(),
                    [=] { return cuda().cuEventCreate(event, flags & event_mask); });
}

hipError_t destroy_event(hipEvent_t event) {
  if (event == nullptr) return hipErrorInvalidHandle;
  return translate(cuda().cuEventDestroy_v2(event));
}

hipError_t record_event(hipEvent_t event, hipStream_t stream) {
  if (event == nullptr) return hipErrorInvalidHandle;
  return call_after(enter_null_stream(stream), [=] { return cuda().cuEventRecord(event, stream); });
}

hipError_t query_event(hipEvent_t event) {
  if (event == nullptr) return hipErrorInvalidHandle;
  return translate(cuda().cuEventQuery(event));
}

hipError_t synchronize_event(hipEvent_t event) {
  if (event == nullptr) return hipErrorInvalidHandle;
  return translate(cuda().cuEventSynchronize(event));
}

hipError_t get_elapsed_time(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  if (milliseconds == nullptr) return hipErrorInvalidValue;
  if (start == nullptr || stop == nullptr) return hipErrorInvalidHandle;
  return translate(cuda().cuEventElapsedTime(milliseconds, start, stop));
}

}  // namespace

void fill_streams(Api& api) {
  api.hipStreamCreateWithFlags = create_stream;
  api.hipStreamCreateWithPriority = create_stream_with_priority;
  api.hipDeviceGetStreamPriorityRange = get_priority_range;
  api.hipStreamDestroy = destroy_stream;
  api.hipStreamQuery = query_stream;
  api.hipStreamSynchronize = synchronize_stream;
  api.hipStreamWaitEvent = wait_event;
  api.hipLaunchHostFunc = launch_host_function;
  api.hipEventCreateWithFlags = create_event;
  api.hipEventDestroy = destroy_event;
  api.hipEventRecord = record_event;
  api.hipEventQuery = query_event;
  api.hipEventSynchronize = synchronize_event;
  api.hipEventElapsedTime = get_elapsed_time;
}

}  // namespace hiptool::hip::nvidia
