// SPDX-License-Identifier: MIT

#include "hip/cpu/accounting.hpp"
#include "hip/cpu/calls.hpp"
#include "hip/cpu/devices.hpp"
#include "hip/cpu/entry.hpp"
#include "hip/cpu/handles.hpp"
#include "hip/cpu/submission.hpp"
#include "hip/cpu/workers.hpp"

namespace hiptool::hip::cpu {
namespace {

using Streams = Handles<hipStream_t, Queue>;

Streams& streams() {
  static auto* const instance = new Streams;
  return *instance;
}

hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  if (stream == nullptr || (flags != hipStreamDefault && flags != hipStreamNonBlocking)) {
    return hipErrorInvalidValue;
  }
  Workers::instance().join_retired();
  QueueTraits traits;
  traits.device = current_device();
  traits.is_blocking = flags == hipStreamDefault;
  *stream = streams().add(queues_of(traits.device).create(traits));
  return hipSuccess;
}

/// All workers are equal, so any priority will do.
hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int) {
  return hipStreamCreateWithFlags(stream, flags);
}

hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -1;
  return hipSuccess;
}

/// Does not wait: queued work still runs.
hipError_t hipStreamDestroy(hipStream_t stream) {
  const auto queue = streams().remove(stream);
  if (queue == nullptr) return hipErrorInvalidHandle;
  queue->close();
  return hipSuccess;
}

hipError_t hipStreamQuery(hipStream_t stream) {
  const auto queue = find_queue(stream);
  if (queue == nullptr) return hipErrorInvalidHandle;
  if (const hipError_t error = queue->capture().refuse(); error != hipSuccess) return error;
  const auto outstanding = queues_of(queue->traits().device).outstanding(queue);
  return outstanding.empty() ? failure_of(queue) : hipErrorNotReady;
}

hipError_t hipStreamSynchronize(hipStream_t stream) {
  const auto queue = find_queue(stream);
  if (queue == nullptr) return hipErrorInvalidHandle;
  if (const hipError_t error = queue->capture().refuse(); error != hipSuccess) return error;
  const hipError_t error = wait_for(queues_of(queue->traits().device).outstanding(queue));
  return error == hipSuccess ? failure_of(queue) : error;
}

hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void* user_data) {
  if (function == nullptr) return hipErrorInvalidValue;
  const auto queue = find_queue(stream);
  if (queue == nullptr) return hipErrorInvalidHandle;
  return submit(queue, [=] { function(user_data); });
}

}  // namespace

std::shared_ptr<Queue> find_queue(hipStream_t stream) {
  if (stream == nullptr) return queues_of(current_device()).null_queue();
  return streams().find(stream);
}

std::size_t live_stream_count() { return streams().size(); }

void add_stream_calls(Api& api) {
  api.hipStreamCreateWithFlags = &Entry<&hipStreamCreateWithFlags>::call;
  api.hipStreamCreateWithPriority = &Entry<&hipStreamCreateWithPriority>::call;
  api.hipDeviceGetStreamPriorityRange = &Entry<&hipDeviceGetStreamPriorityRange>::call;
  api.hipStreamDestroy = &Entry<&hipStreamDestroy>::call;
  api.hipStreamQuery = &Entry<&hipStreamQuery>::call;
  api.hipStreamSynchronize = &Entry<&hipStreamSynchronize>::call;
  api.hipLaunchHostFunc = &Entry<&hipLaunchHostFunc>::call;
}

}  // namespace hiptool::hip::cpu
