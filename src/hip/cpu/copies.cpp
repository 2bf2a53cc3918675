// SPDX-License-Identifier: MIT
#include <cstring>
#include <limits>
#include <utility>

#include "hip/cpu/allocations.hpp"
#include "hip/cpu/calls.hpp"
#include "hip/cpu/devices.hpp"
#include "hip/cpu/entry.hpp"
#include "hip/cpu/submission.hpp"

namespace hiptool::hip::cpu {
namespace {

enum class Range { pageable, known, invalid };

/// A range that starts in known memory has to end in it.
Range classify(const void* pointer, std::size_t bytes) {
  if (pointer == nullptr) return Range::invalid;
  const auto allocation = Allocations::instance().find(pointer);
  if (!allocation) return Range::pageable;
  const auto offset = static_cast<std::size_t>(static_cast<const char*>(pointer) -
                                               static_cast<const char*>(allocation->base));
  return bytes <= allocation->bytes - offset ? Range::known : Range::invalid;
}

bool is_kind(hipMemcpyKind kind) { return kind >= hipMemcpyHostToHost && kind <= hipMemcpyDefault; }

/// Bytes from the first row's start to the last row's end; false where that overflows.
bool extent_of(std::size_t pitch, std::size_t width, std::size_t height, std::size_t& bytes) {
  const std::size_t rows_before_last = height - 1;
  constexpr std::size_t limit = std::numeric_limits<std::size_t>::max();
  if (rows_before_last != 0 && pitch > (limit - width) / rows_before_last) return false;
  bytes = rows_before_last * pitch + width;
  return true;
}

/// The kind is only checked, not used: there is one address space (HIP: unified addressing).
/// Pageable memory may be gone when the call returns, so such copies are done by then.
hipError_t hipMemcpy2DAsync(void* destination, std::size_t destination_pitch, const void* source,
                            std::size_t source_pitch, std::size_t width, std::size_t height,
                            hipMemcpyKind kind, hipStream_t stream) {
  if (!is_kind(kind)) return hipErrorInvalidMemcpyDirection;
  const auto queue = find_queue(stream);
  if (queue == nullptr) return hipErrorInvalidHandle;
  if (width == 0 || height == 0) return hipSuccess;
  if (width > destination_pitch || width > source_pitch) return hipErrorInvalidValue;
  std::size_t to_bytes = 0;
  std::size_t from_bytes = 0;
  if (!extent_of(destination_pitch, width, height, to_bytes) ||
      !extent_of(source_pitch, width, height, from_bytes)) {
    return hipErrorInvalidValue;
  }
  const Range to = classify(destination, to_bytes);
  const Range from = classify(source, from_bytes);
  if (to == Range::invalid || from == Range::invalid) return hipErrorInvalidValue;
  auto run = [=] {
    char* row_to = static_cast<char*>(destination);
    const char* row_from = static_cast<const char*>(source);
    for (std::size_t row = 0; row < height; ++row) {
      std::memmove(row_to + row * destination_pitch, row_from + row * source_pitch, width);
    }
  };
  if (to == Range::pageable || from == Range::pageable) {
    return submit_and_wait(queue, std::move(run));
  }
  return submit(queue, std::move(run));
}

hipError_t hipMemcpyAsync(void* destination, const void* source, std::size_t bytes,
                          hipMemcpyKind kind, hipStream_t stream) {
  return hipMemcpy2DAsync(destination, bytes, source, bytes, bytes, 1, kind, stream);
}

hipError_t hipMemcpyPeerAsync(void* destination, int destination_ordinal, const void* source,
                              int source_ordinal, std::size_t bytes, hipStream_t stream) {
  if (!is_device(destination_ordinal) || !is_device(source_ordinal)) return hipErrorInvalidDevice;
  return hipMemcpyAsync(destination, source, bytes, hipMemcpyDeviceToDevice, stream);
}

/// Only allocated or registered memory can be filled (HIP: hipErrorInvalidValue for other memory).
hipError_t hipMemsetAsync(void* destination, int value, std::size_t bytes, hipStream_t stream) {
  const auto queue = find_queue(stream);
  if (queue == nullptr) return hipErrorInvalidHandle;
  if (bytes == 0) return hipSuccess;
  if (classify(destination, bytes) != Range::known) return hipErrorInvalidValue;
  return submit(queue, [=] { std::memset(destination, value, bytes); });
}

}  // namespace

void add_copy_calls(Api& api) {
  api.hipMemcpyAsync = &Entry<&hipMemcpyAsync>::call;
  api.hipMemcpyPeerAsync = &Entry<&hipMemcpyPeerAsync>::call;
  api.hipMemcpy2DAsync = &Entry<&hipMemcpy2DAsync>::call;
  api.hipMemsetAsync = &Entry<&hipMemsetAsync>::call;
}

}  // namespace hiptool::hip::cpu
