// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "hiptool/model_file.hpp"
#include "load/layout/blocks.hpp"
#include "load/layout/chunks.hpp"
#include "load/layout/pieces.hpp"

namespace hiptool::load {

/// Digests of staging slots as they were read, keyed by the file offsets that the loader issued.
class SlotDigests final : public ChunkSink {
 public:
  /// From any thread.
  void on_part(std::span<const std::byte> bytes, const Piece& part) override;

  /// After the load: the digests in the order of a map that comes from the parsed header alone; 0
  /// for a block that was never read from where the header has it, and which so equals no digest of
  /// the device.
  std::vector<std::uint64_t> collect(const ModelFile& model, const BlockMap& blocks);

 private:
  /// A piece of a file that one reader read in order, with the digests of its blocks.
  struct Run {
    std::uint32_t file = 0;
    base::ByteRange in_file;
    std::vector<std::uint64_t> digests;

    bool is_continued_by(const Piece& part) const;
    /// The digest of the block that begins there and has that size, or null.
    const std::uint64_t* find(std::uint32_t wanted_file, std::uint64_t offset,
                              std::uint64_t wanted_bytes) const;
  };

  /// Of the threads that share it, few or one: a lock and a list of all readers would hold them up.
  struct alignas(64) Shard {
    std::mutex mutex;
    std::vector<Run> runs;
  };

  std::array<Shard, 64> shards_;
};

}  // namespace hiptool::load
