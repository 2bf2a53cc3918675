// SPDX-License-Identifier: MIT
/// Digests of a buffer that its device computes, to compare much data without copying it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hiptool/buffer.hpp"
#include "hiptool/stream.hpp"
#include "kernel_store/digest.hpp"

namespace hiptool::measure {

/// XXH3-64 of each 16 KiB of one buffer, several times over before the host looks.
class DeviceDigest {
 public:
  /// Room for the digests of `most_looks` states of the buffer. Blocks while the kernel is loaded;
  /// throws Error(unsupported) where there is none for the device.
  DeviceDigest(const Buffer& data, std::size_t most_looks);

  /// Queues the digests of the buffer as the stream has it then, as look `look`. Does not block.
  void queue(std::size_t look, const StreamRef& stream);

  /// The digests of the first `looks` looks, one after the other. Blocks until the stream is done.
  std::span<const std::uint64_t> read(std::size_t looks, const StreamRef& stream);

  std::size_t block_count() const noexcept { return blocks_; }

 private:
  kernel_store::DigestTable table_;
  std::size_t blocks_;
  Buffer list_;
  kernel_store::BlockDigester digester_;
  std::vector<std::uint64_t> digests_;
};

/// The same digests of bytes on the host.
std::vector<std::uint64_t> host_digests(std::span<const std::byte> bytes);

}  // namespace hiptool::measure
