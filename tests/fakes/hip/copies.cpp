// SPDX-License-Identifier: MIT
#include "fakes/hip/call.hpp"

using namespace hiptool::fake;

extern "C" {

hipError_t hipMemcpyAsync(void* destination, const void* source, std::size_t bytes,
                          hipMemcpyKind kind, hipStream_t stream) {
  return forward_after(enter_stream(stream), &Api::hipMemcpyAsync, destination, source, bytes, kind,
                       stream);
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
hipError_t hipMemsetAsync(void* destination, int value, std::size_t bytes, hipStream_t stream) {
  return forward_after(enter_stream(stream), &Api::hipMemsetAsync, destination, value, bytes,
                       stream);
}
}  // extern "C"
