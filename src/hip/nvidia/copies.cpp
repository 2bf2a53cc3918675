// SPDX-License-Identifier: MIT
#include "hip/nvidia/calls.hpp"
#include "hip/nvidia/driver.hpp"

namespace hiptool::hip::nvidia {
namespace {

/// Under unified addressing the driver derives the direction from the addresses; the kind is only
/// checked.
bool is_known(hipMemcpyKind kind) noexcept {
  return kind >= hipMemcpyHostToHost && kind <= hipMemcpyDefault;
}

hipError_t copy_async(void* destination, const void* source, std::size_t bytes, hipMemcpyKind kind,
                      hipStream_t stream) {
  if (!is_known(kind)) return hipErrorInvalidMemcpyDirection;
  if (bytes == 0) return hipSuccess;
  return call_after(enter_stream(stream), [=] {
    return cuda().cuMemcpyAsync(to_address(destination), to_address(source), bytes, stream);
  });
}

hipError_t copy_peer_async(void* destination, int destination_ordinal, const void* source,
                           int source_ordinal, std::size_t bytes, hipStream_t stream) {
  CUcontext destination_context = nullptr;
  CUcontext source_context = nullptr;
  hipError_t error = find_context(destination_ordinal, destination_context);
  if (error == hipSuccess) error = find_context(source_ordinal, source_context);
  if (error == hipSuccess) error = enter_stream(stream);
  if (error == hipSuccess && bytes == 0) return hipSuccess;
  return call_after(error, [&] {
    return cuda().cuMemcpyPeerAsync(to_address(destination), destination_context,
                                    to_address(source), source_context, bytes, stream);
  });
}

hipError_t copy_2d_async(void* destination, std::size_t destination_pitch, const void* source,
                         std::size_t source_pitch, std::size_t width, std::size_t height,
                         hipMemcpyKind kind, hipStream_t stream) {
  if (!is_known(kind)) return hipErrorInvalidMemcpyDirection;
  if (width == 0 || height == 0) return hipSuccess;
  if (destination_pitch < width || source_pitch < width) return hipErrorInvalidPitchValue;
  CudaMemcpy2D rows{};
  rows.source_type = CU_MEMORYTYPE_UNIFIED;
  rows.source_device = to_address(source);
  rows.source_pitch = source_pitch;
  rows.destination_type = CU_MEMORYTYPE_UNIFIED;
  rows.destination_device = to_address(destination);
  rows.destination_pitch = destination_pitch;
  rows.width_bytes = width;
  rows.height = height;
  return call_after(enter_stream(stream), [&] { return cuda().cuMemcpy2DAsync_v2(&rows, stream); });
}

hipError_t set_async(void* destination, int value, std::size_t bytes, hipStream_t stream) {
  if (bytes == 0) return hipSuccess;
  return call_after(enter_stream(stream), [=] {
    return cuda().cuMemsetD8Async(to_address(destination), static_cast<unsigned char>(value), bytes,
                                  stream);
  });
}

}  // namespace

void fill_copies(Api& api) {
  api.hipMemcpyAsync = copy_async;
  api.hipMemcpyPeerAsync = copy_peer_async;
  api.hipMemcpy2DAsync = copy_2d_async;
  api.hipMemsetAsync = set_async;
}

}  // namespace hiptool::hip::nvidia
