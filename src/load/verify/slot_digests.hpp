// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "hiptool/model_file.hpp"
#include "load/layout/blocks.hpp"
#include "load/layout/chunks.hpp"
#include "load/layout/pieces.hpp"

namespace hiptool::load {

/// Digests of staging slots as they were read, found by the file offsets that the loader issued:
/// where the parsed header has a block at such an offset, it gets the digest of what was read from
/// there.
class SlotDigests final : public ChunkSink {
 public:
  /// Both must outlive this object.
  SlotDigests(const ModelFile& model, const BlockMap& blocks);

  /// From any thread; no two threads pass the same block.
  void on_part(std::span<const std::byte> bytes, const Piece& part) override;

  /// After the load: the digests in the order of the map; 0 for a block that was never read from
  /// where the header has it, and which so equals no digest of the device.
  std::span<const std::uint64_t> digests() const { return {digests_.get(), blocks_.count()}; }

 private:
  struct Free {
    void operator()(void* memory) const noexcept { std::free(memory); }
  };

  const ModelFile& model_;
  const BlockMap& blocks_;
  std::vector<std::uint32_t> by_offset_;  // the tensors that are not empty, as the model has them
  // Zero pages of the kernel: readers touch them in parallel, for one thread it would take 2 ms.
  std::unique_ptr<std::uint64_t[], Free> digests_;
};

}  // namespace hiptool::load
