// SPDX-License-Identifier: MIT
#include "fakes/hip/call.hpp"

using namespace hiptool::fake;

extern "C" {

hipError_t hipMemcpy(void* destination, const void* source, std::size_t bytes, hipMemcpyKind kind) {
  return forward(&Api::hipMemcpy, destination, source, bytes, kind);
}
hipError_t hipMemcpyAsync(void* destination, const void* source, std::size_t bytes,
                          hipMemcpyKind kind, hipStream_t stream) {
  return forward_after(enter_stream(stream), &Api::hipMemcpyAsync, destination, source, bytes, kind,
                       stream);
}
hipError_t hipMemcpyHtoD(hipDeviceptr_t destination, void* source, std::size_t bytes) {
  return forward(&Api::hipMemcpyHtoD, destination, source, bytes);
}
hipError_t hipMemcpyDtoH(void* destination, hipDeviceptr_t source, std::size_t bytes) {
  return forward(&Api::hipMemcpyDtoH, destination, source, bytes);
}
hipError_t hipMemcpyDtoD(hipDeviceptr_t destination, hipDeviceptr_t source, std::size_t bytes) {
  return forward(&Api::hipMemcpyDtoD, destination, source, bytes);
}
hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t destination, void* source, std::size_t bytes,
                              hipStream_t stream) {
  return forward_after(enter_stream(stream), &Api::hipMemcpyHtoDAsync, destination, source, bytes,
                       stream);
}
hipError_t hipMemcpyDtoHAsync(void* destination, hipDeviceptr_t source, std::size_t bytes,
                              hipStream_t stream) {
  return forward_after(enter_stream(stream), &Api::hipMemcpyDtoHAsync, destination, source, bytes,
                       stream);
}
hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t destination, hipDeviceptr_t source, std::size_t bytes,
                              hipStream_t stream) {
  return forward_after(enter_stream(stream), &Api::hipMemcpyDtoDAsync, destination, source, bytes,
                       stream);
}
hipError_t hipMemcpyPeer(void* destination, int destination_ordinal, const void* source,
                         int source_ordinal, std::size_t bytes) {
  const hipError_t error = enter_device(destination_ordinal);
  return forward_after(error == hipSuccess ? enter_device(source_ordinal) : error,
                       &Api::hipMemcpyPeer, destination, destination_ordinal, source,
                       source_ordinal, bytes);
}
hipError_t hipMemcpyPeerAsync(void* destination, int destination_ordinal, const void* source,
                              int source_ordinal, std::size_t bytes, hipStream_t stream) {
  hipError_t error = enter_device(destination_ordinal);
  if (error == hipSuccess) error = enter_device(source_ordinal);
  return forward_after(error == hipSuccess ? enter_stream(stream) : error, &Api::hipMemcpyPeerAsync,
                       destination, destination_ordinal, source, source_ordinal, bytes, stream);
}
hipError_t hipMemcpy2DAsync(void* destination, std::size_t destination_pitch, const void* source,
                            std::size_t source_pitch, std::size_t width, std::size_t height,
                            hipMemcpyKind kind, hipStream_t stream) {
  return forward_after(enter_stream(stream), &Api::hipMemcpy2DAsync, destination, destination_pitch,
                       source, source_pitch, width, height, kind, stream);
}
hipError_t hipMemset(void* destination, int value, std::size_t bytes) {
  return forward(&Api::hipMemset, destination, value, bytes);
}
hipError_t hipMemsetAsync(void* destination, int value, std::size_t bytes, hipStream_t stream) {
  return forward_after(enter_stream(stream), &Api::hipMemsetAsync, destination, value, bytes,
                       stream);
}
hipError_t hipMemsetD32Async(hipDeviceptr_t destination, int value, std::size_t count,
                             hipStream_t stream) {
  return forward_after(enter_stream(stream), &Api::hipMemsetD32Async, destination, value, count,
                       stream);
}

}  // extern "C"
