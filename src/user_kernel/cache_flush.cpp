// SPDX-License-Identifier: MIT
#include "user_kernel/cache_flush.hpp"

#include <algorithm>

#include "base/units.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"

namespace hiptool::user_kernel {
namespace {

Buffer flush_buffer(const Device& device) {
  const std::uint64_t size = flush_size_bytes(device);
  try {
    return Buffer(device, size);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
    throw Error(ErrorCode::out_of_memory, "run kernel",
                "a cold cache needs another " + format_size(size) + " on " + device.id(),
                "use smaller buffers, or --cache warm");
  }
}

}  // namespace

std::uint64_t flush_size_bytes(const Device& device) {
  const bool is_host = device.is_host_memory();
  const std::uint64_t least = std::uint64_t{is_host ? 64u : 512u} << 20;
  return std::max(least, 4 * device.info().l2_cache_bytes.value_or(0));
}

CacheFlush::CacheFlush(const Device& device) : buffer_(flush_buffer(device)) {}

void CacheFlush::queue(const StreamRef& stream) {
  is_odd_ = !is_odd_;  // no write of equal bytes, which a device could leave out
  fill(buffer_, std::byte{is_odd_ ? std::uint8_t{1} : std::uint8_t{2}}, stream);
}

}  // namespace hiptool::user_kernel
