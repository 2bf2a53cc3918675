// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "hiptool/buffer.hpp"
#include "hiptool/device.hpp"
#include "hiptool/stream.hpp"

namespace hiptool::kernels {

class KernelLoader;

/// One range of device memory to be digested: its leaves are pieces of 16 KiB from its start, the
/// last one shorter.
struct DigestRange {
  std::uint64_t device_offset = 0;  ///< in the buffer, any alignment
  std::uint64_t size_bytes = 0;
  std::uint64_t first_leaf = 0;  ///< where its digests go in the list
};

/// Computes leaf digests (XXH3-64, seed 0) on a device. Loads its kernel once.
class LeafDigester {
 public:
  /// Throws Error(unsupported) where there is neither an image nor a run-time compiler for the
  /// device; the message says which.
  explicit LeafDigester(const Device& device);
  /// The same with a loader of the caller, who decides how kernels are compiled.
  explicit LeafDigester(KernelLoader& loader);
  ~LeafDigester();
  LeafDigester(LeafDigester&& other) noexcept;
  LeafDigester& operator=(LeafDigester&& other) noexcept;

  /// Queues the digests of one contiguous range: digest i of the range goes to
  /// digests[range.first_leaf + i] (u64). Does not block.
  void digest(const Buffer& data, const DigestRange& range, const Buffer& digests,
              const StreamRef& stream);

  /// The image in use: "sm_60", "gfx90a", "cpu", or "compiled for sm_90".
  const std::string& image() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hiptool::kernels
