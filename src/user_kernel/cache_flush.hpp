// SPDX-License-Identifier: MIT
/// Takes the data of a kernel out of a device's caches.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiptool/buffer.hpp"
#include "hiptool/stream.hpp"

namespace hiptool::user_kernel {

/// How much has to be written so that nothing else is left in a cache: four times the L2 cache that
/// the device reports, and at least 512 MiB on a GPU, whose last cache may not be reported (the L3
/// cache of MI300X to MI355X has 256 MiB: rocm.docs.amd.com, "AMD GPU specifications"), or 64 MiB
/// on a host.
std::uint64_t flush_size_bytes(const Device& device);

/// Writes that much of its own memory. Throws Error(out_of_memory) where there is not enough.
class CacheFlush {
 public:
  explicit CacheFlush(const Device& device);
  /// Queues the write on the stream; does not block.
  void queue(const StreamRef& stream);
  std::uint64_t size_bytes() const { return buffer_.size_bytes(); }

 private:
  Buffer buffer_;
  bool is_odd_ = false;
};

}  // namespace hiptool::user_kernel
