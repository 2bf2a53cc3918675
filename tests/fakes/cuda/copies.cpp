// SPDX-License-Identifier: MIT
#include "fakes/common/settings.hpp"
#include "fakes/cuda/call.hpp"
#include "fakes/cuda/faults.hpp"
#include "fakes/cuda/graphs.hpp"
#include "fakes/cuda/hold.hpp"
#include "fakes/cuda/rates.hpp"

using namespace hiptool::fake;
using namespace hiptool::hip;

namespace {

constexpr std::size_t damaged_bytes = 16;
constexpr std::size_t slow_from_bytes = 64u << 10;

/// Whether FAKE_CUDA_FAIL_FROM or FAKE_CUDA_CORRUPT_FROM, a number of bytes, applies to this copy;
/// "1:4096" does on device 1 alone.
bool is_hit(const char* variable, std::size_t bytes, CUstream stream) {
  int least = 0;
  if (text_from(variable, "").find(':') == std::string::npos) {
    least = number_from(variable, 0);
  } else {
    const int device = ordinal_of(stream != nullptr ? context_of(stream) : current_context());
    least = std::atoi(fault_of(variable, device).c_str());
  }
  return least > 0 && bytes >= static_cast<std::size_t>(least);
}

/// The middle of what was copied, which holds something else afterwards. Memory of the host that
/// the driver does not know cannot be damaged: the copy fails.
void* damaged_part(CUdeviceptr to, std::size_t bytes) {
  return to_pointer(to + bytes / 2 - damaged_bytes / 2);
}

CUresult copy_async(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  if (is_recording(stream)) {
    return record(stream, [=](CUstream on) { return copy_async(to, from, bytes, on); });
  }
  if (is_hit("FAKE_CUDA_FAIL_FROM", bytes, stream)) return CUDA_ERROR_UNKNOWN;
  if (bytes >= slow_from_bytes) hold("copy");
  if (bytes >= slow_from_bytes && enter_stream(stream) == CUDA_SUCCESS) {
    slow_down("FAKE_CUDA_SLOW_COPY", stream);
    plant_copy(stream, bytes);
  }
  const CUresult result = forward_after(enter_stream(stream), &Api::hipMemcpyAsync, to_pointer(to),
                                        to_pointer(from), bytes, hipMemcpyDefault, stream);
  if (result != CUDA_SUCCESS || !is_hit("FAKE_CUDA_CORRUPT_FROM", bytes, stream)) return result;
  return forward_after(enter_stream(stream), &Api::hipMemsetAsync, damaged_part(to, bytes), 0xa5,
                       damaged_bytes, stream);
}

}  // namespace

extern "C" {

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return copy_async(to, from, bytes, stream);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                           CUcontext from_context, std::size_t bytes, CUstream stream) {
  if (to_context == nullptr || from_context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (const CUresult refused = refuse_on(stream); refused != CUDA_SUCCESS) return refused;
  slow_down("FAKE_CUDA_SLOW_PEER", stream);
  return forward_after(enter_stream(stream), &Api::hipMemcpyPeerAsync, to_pointer(to),
                       ordinal_of(to_context), to_pointer(from), ordinal_of(from_context), bytes,
                       stream);
}

/// Both ends are "unified" here, which is what the nvidia platform asks for.
CUresult cuMemcpy2DAsync_v2(const CudaMemcpy2D* rows, CUstream stream) {
  if (rows == nullptr || rows->source_type != CU_MEMORYTYPE_UNIFIED ||
      rows->destination_type != CU_MEMORYTYPE_UNIFIED || rows->source_x_bytes != 0 ||
      rows->source_y != 0 || rows->destination_x_bytes != 0 || rows->destination_y != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (is_recording(stream)) {
    return record(stream, [copy = *rows](CUstream on) { return cuMemcpy2DAsync_v2(&copy, on); });
  }
  return forward_after(enter_stream(stream), &Api::hipMemcpy2DAsync,
                       to_pointer(rows->destination_device), rows->destination_pitch,
                       to_pointer(rows->source_device), rows->source_pitch, rows->width_bytes,
                       rows->height, hipMemcpyDefault, stream);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) {
  if (is_recording(stream)) {
    return record(stream, [=](CUstream on) { return cuMemsetD8Async(to, value, count, on); });
  }
  return forward_after(enter_stream(stream), &Api::hipMemsetAsync, to_pointer(to), int{value},
                       count, stream);
}
}  // extern "C"
