// SPDX-License-Identifier: MIT
#include "load/read/direct_reader.hpp"

#include <unistd.h>

#include <cerrno>

#include "base/units.hpp"
#include "hiptool/error.hpp"

namespace hiptool::load {
namespace {

constexpr std::size_t bounce_alignment_bytes = 64u << 10;  // the largest that DirectFile accepts

class PreadReader final : public DirectReader {
 public:
  explicit PreadReader(std::uint64_t request_bytes)
      : request_bytes_(request_bytes), buffer_(request_bytes + request_slack_bytes) {}

  DirectResult read(const Range& range, const Take& take,
                    const std::function<void()>& check) override {
    for (std::uint64_t at = range.bytes.offset; at < range.wanted_end;) {
      check();
      const std::uint64_t size_bytes = next_request(range.bytes.end() - at, request_bytes_);
      const ssize_t got =
          ::pread(range.descriptor, buffer_.data(), size_bytes, static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return {errno, at, false};
      if (got == 0) return {0, at, false};
      const auto bytes = static_cast<std::uint64_t>(got);
      take(at, {buffer_.data(), bytes});
      at += bytes;
      // A short read that ends inside a block is the end of the file: nothing can follow it.
      if (at < range.wanted_end && at % 512 != 0) return {0, at, false};
    }
    return {0, range.wanted_end, true};
  }

  const char* name() const noexcept override { return "pread"; }

 private:
  std::uint64_t request_bytes_;
  BounceBuffer buffer_;
};

}  // namespace

BounceBuffer::BounceBuffer(std::uint64_t size_bytes) {
  const std::uint64_t rounded =
      (size_bytes + bounce_alignment_bytes - 1) / bounce_alignment_bytes * bounce_alignment_bytes;
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(bounce_alignment_bytes, rounded)));
  if (data_ == nullptr) {
    throw Error(ErrorCode::host_out_of_memory, "read",
                "no host memory for " + format_size(rounded) + " of read buffers",
                "free memory on the host, or raise the limit of the container");
  }
}

std::unique_ptr<DirectReader> make_pread_reader(std::uint64_t request_bytes) {
  return std::make_unique<PreadReader>(request_bytes);
}

}  // namespace hiptool::load
