// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "hiptool/buffer.hpp"
#include "hiptool/device.hpp"
#include "hiptool/export.hpp"
#include "hiptool/stream.hpp"

namespace hiptool {

/// Keeps freed device memory for the next allocation, because the runtime's own free waits for the
/// whole device. For work on streams: a block may be released while work that uses it is queued.
///
/// Blocks have sizes of an eighth of a power of two from 512 bytes to 32 MiB, larger ones exactly
/// the requested size (after the caching allocator of candle's ROCm backend, huggingface/candle
/// pull request 3801). A block's last Buffer (the one returned and its views) puts it into the
/// cache, marked with an event on the stream it was used on. On that stream it is used again at
/// once, ordered after the earlier work; on another only when the event is reached.
///
/// Safe to use from several threads. Buffers may outlive the allocator; their memory is then freed
/// like any other. Functions of a moved-from CachingAllocator throw Error(invalid_argument).
class HIPTOOL_API CachingAllocator {
 public:
  struct Options {
    /// The most that is kept; beyond it the largest blocks are freed first. Default: an eighth of
    /// the device's memory.
    std::optional<std::uint64_t> cache_limit_bytes;
  };

  struct Statistics {
    std::uint64_t hits = 0;        ///< allocations served from the cache
    std::uint64_t misses = 0;      ///< allocations by the runtime
    std::uint64_t evictions = 0;   ///< blocks freed because the cache was full
    std::uint64_t recoveries = 0;  ///< times that the cache was released for want of memory
    std::uint64_t cached_bytes = 0;
    std::uint64_t cached_blocks = 0;
    std::uint64_t used_bytes = 0;  ///< in blocks that Buffers hold, rounded up as blocks are
    std::uint64_t used_blocks = 0;
  };

  explicit CachingAllocator(const Device& device);
  /// Reads the device's memory where the options leave the limit open; throws what that throws.
  CachingAllocator(const Device& device, Options options);
  /// Frees what is cached; waits for the work that uses it.
  ~CachingAllocator();
  CachingAllocator(CachingAllocator&&) noexcept;
  CachingAllocator& operator=(CachingAllocator&&) noexcept;

  /// Memory for work on this stream, which must live until the last Buffer on it is gone (the work
  /// may still be queued then). Its bytes are not initialised. Size 0 has a null address. When the
  /// runtime is out of memory, everything cached is released and the allocation is tried once more.
  /// Does not block when served from the cache. Throws Error(invalid_argument) for a stream of
  /// another device, and what Buffer throws.
  [[nodiscard]] Buffer allocate(std::size_t size_bytes, const StreamRef& stream);

  /// Records that work on another stream uses the memory too: it is then used again only after that
  /// work as well. The stream must live as long as the first one. Call it before the Buffer goes.
  /// Throws Error(invalid_argument) for a buffer of another allocator or a stream of another
  /// device.
  void record_use(const Buffer& buffer, const StreamRef& stream);

  /// Gives everything cached back to the runtime and waits for the work that uses it. Returns
  /// the number of bytes.
  std::uint64_t release_cached();

  [[nodiscard]] Statistics statistics() const;
  [[nodiscard]] const Device& device() const;
  [[nodiscard]] std::uint64_t cache_limit_bytes() const;

  /// Size of the block that holds that many bytes.
  [[nodiscard]] static std::size_t block_size(std::size_t size_bytes) noexcept;

 private:
  struct State;
  [[nodiscard]] State& state() const;  // throws where it was moved from
  void close() noexcept;

  std::shared_ptr<State> state_;
};

}  // namespace hiptool
