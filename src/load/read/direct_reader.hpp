// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/byte_range.hpp"

namespace hiptool::load {

/// How a direct read ended.
struct DirectResult {
  int error = 0;                ///< errno; 0: none
  std::uint64_t read_end = 0;   ///< with an error: offset of the request that had it
  bool reached_wanted = false;  ///< every byte of the range was delivered
};

/// Reads ranges of files past the page cache into buffers of its own, one or several requests at a
/// time. Serves one thread.
class DirectReader {
 public:
  /// A range of a file, whose start and end are multiples of the alignment; the end may be beyond
  /// the file, but at least the bytes before `wanted_end` must be there.
  struct Range {
    int descriptor = -1;
    base::ByteRange bytes;
    std::uint64_t wanted_end = 0;
  };
  /// Called for each run of bytes that was read, in any order; valid only during the call.
  using Take = std::function<void(std::uint64_t offset, std::span<const std::byte> bytes)>;

  virtual ~DirectReader() = default;
  DirectReader() = default;
  DirectReader(const DirectReader&) = delete;
  DirectReader& operator=(const DirectReader&) = delete;

  /// Blocks until the range is read, the file ends or a request fails. `check` is called between
  /// requests and may throw; no request is in flight afterwards, whatever happens.
  virtual DirectResult read(const Range& range, const Take& take,
                            const std::function<void()>& check) = 0;
  virtual const char* name() const noexcept = 0;
};

/// A range is read in requests of about this size; what alignment added to its ends does not become
/// a request of its own, so buffers are larger by this much.
inline constexpr std::uint64_t request_slack_bytes = 128u << 10;

/// Size of the next request of a range of which so much is left.
inline std::uint64_t next_request(std::uint64_t left_bytes, std::uint64_t request_bytes) {
  return left_bytes <= request_bytes + request_slack_bytes ? left_bytes : request_bytes;
}

/// One pread(2) at a time. Throws Error(host_out_of_memory).
std::unique_ptr<DirectReader> make_pread_reader(std::uint64_t request_bytes);

/// `depth` requests at a time through io_uring(7). Null, with the reason in `why`, where it is not
/// built in or the kernel (or a container's filter) does not allow it.
std::unique_ptr<DirectReader> make_uring_reader(std::uint32_t depth, std::uint64_t request_bytes,
                                                std::string& why);

/// Page-aligned memory that direct reads may fill.
class BounceBuffer {
 public:
  /// Throws Error(host_out_of_memory).
  explicit BounceBuffer(std::uint64_t size_bytes);
  std::byte* data() const noexcept { return data_.get(); }
  /// Never frees it: the kernel may still write to it.
  void abandon() noexcept { static_cast<void>(data_.release()); }

 private:
  struct Free {
    void operator()(std::byte* data) const noexcept { std::free(data); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

}  // namespace hiptool::load
