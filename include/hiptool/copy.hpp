// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <span>

#include "hiptool/buffer.hpp"
#include "hiptool/export.hpp"
#include "hiptool/stream.hpp"

namespace hiptool {

// Copies are queued on the stream given and return without waiting for it, except that memory that
// is not pinned may be staged before the call returns. Source and destination must stay alive until
// the stream has passed the copy. Size 0 does nothing. The null stream is never used. All of them
// throw Error(out_of_bounds) when a range does not fit and Error(device) when the runtime refuses.

/// Host to device, into the start of the destination; the source may be shorter, not longer.
HIPTOOL_API void copy_h2d(Buffer& destination, std::span<const std::byte> source,
                          const StreamRef& stream);

/// Device to host, from the start of the source; the destination may be shorter, not longer.
HIPTOOL_API void copy_d2h(std::span<std::byte> destination, const Buffer& source,
                          const StreamRef& stream);

/// Device to device on one device; the sizes must be equal and the ranges must not overlap
/// (Error(invalid_argument)).
HIPTOOL_API void copy_d2d(Buffer& destination, const Buffer& source, const StreamRef& stream);

/// A rectangle inside a buffer: `height` rows of `width_bytes`, `pitch_bytes` apart.
struct Rectangle {
  std::size_t offset_bytes = 0;
  std::size_t pitch_bytes = 0;
};

/// Device to device, row by row. Zero width or height does nothing. Error(invalid_argument) when a
/// pitch is below the width; Error(out_of_bounds) when the last row does not fit.
HIPTOOL_API void copy_d2d_2d(Buffer& destination, Rectangle destination_rectangle,
                             const Buffer& source, Rectangle source_rectangle,
                             std::size_t width_bytes, std::size_t height, const StreamRef& stream);

/// From one device to another of the same platform; sizes must be equal. The stream belongs to
/// either device.
HIPTOOL_API void copy_peer(Buffer& destination, const Buffer& source, const StreamRef& stream);

/// Sets every byte.
HIPTOOL_API void fill(Buffer& destination, std::byte value, const StreamRef& stream);

/// The same as copy_h2d and copy_d2h on a stream of their own, and wait until the bytes are there.
HIPTOOL_API void copy_h2d_and_wait(Buffer& destination, std::span<const std::byte> source);
HIPTOOL_API void copy_d2h_and_wait(std::span<std::byte> destination, const Buffer& source);

// The same into a view that is made for the call: copy_h2d(arena.view(0, 16), bytes, stream).

inline void copy_h2d(Buffer&& destination, std::span<const std::byte> source,
                     const StreamRef& stream) {
  copy_h2d(destination, source, stream);
}
inline void copy_d2d(Buffer&& destination, const Buffer& source, const StreamRef& stream) {
  copy_d2d(destination, source, stream);
}
inline void copy_peer(Buffer&& destination, const Buffer& source, const StreamRef& stream) {
  copy_peer(destination, source, stream);
}
inline void fill(Buffer&& destination, std::byte value, const StreamRef& stream) {
  fill(destination, value, stream);
}
inline void copy_h2d_and_wait(Buffer&& destination, std::span<const std::byte> source) {
  copy_h2d_and_wait(destination, source);
}

}  // namespace hiptool
