// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/byte_range.hpp"
#include "hiptool/event.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/model_file.hpp"
#include "load/layout/pieces.hpp"

namespace hiptool::load {

/// Cuts the arena into chunks of at most `most_bytes`, which cross the link with one copy each. A
/// tensor is cut only between its blocks, so every block is in one chunk (as long as a chunk can
/// hold a block and a gap at all).
/// With `readers`, chunks start small and end small: the first copy need not wait for a whole slot,
/// the readers end at nearly the same time, and a small model is divided among them too.
std::vector<base::ByteRange> cut_chunks(const ModelFile& model, const ArenaLayout& layout,
                                        std::uint64_t most_bytes, std::uint32_t readers = 0);

/// One of the parts, nearly equal and cut in the same way, that several readers read of a chunk.
/// Parts of a small chunk may be empty.
base::ByteRange part_of(const ModelFile& model, const ArenaLayout& layout,
                        const base::ByteRange& chunk, std::uint32_t part, std::uint32_t parts);

/// Called by the loader's threads for each chunk; may throw, which ends the load.
class ChunkSink {
 public:
  virtual ~ChunkSink() = default;

  /// The slot is about to be filled: whatever the sink itself queued from it must be done. Not
  /// called for device memory that is read into.
  virtual void before_fill(std::span<const std::byte> slot) { static_cast<void>(slot); }

  /// A part of the chunk was read a moment ago, so the processor's caches still have it where it
  /// came through the page cache. Each tensor's bytes come in parts that begin between its blocks.
  virtual void on_part(std::span<const std::byte> bytes, const Piece& part) {
    static_cast<void>(bytes);
    static_cast<void>(part);
  }

  /// All parts of the chunk were read: its bytes as they go to the device.
  virtual void on_read(const base::ByteRange& chunk, std::span<const std::byte> bytes) {
    static_cast<void>(chunk);
    static_cast<void>(bytes);
  }

  /// The chunk is on its way; `copied` says when it is there, null: it is there already.
  virtual void on_queued(const base::ByteRange& chunk, const Event* copied) {
    static_cast<void>(chunk);
    static_cast<void>(copied);
  }
};

}  // namespace hiptool::load
