// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "hiptool/model_file.hpp"
#include "load/leaves.hpp"
#include "load/pieces.hpp"

namespace hiptool::load {

/// Leaf digests of staging slots as they were read, keyed by the file offsets that the loader
/// issued.
class SlotDigests {
 public:
  /// From any thread.
  void add(std::span<const std::byte> bytes, std::span<const Piece> pieces);

  /// The digests in the order of a map that comes from the parsed header alone. A leaf that was
  /// never read from where the header has it gets an entry in `missing`, by its number.
  std::vector<std::uint64_t> collect(const ModelFile& model, const LeafMap& leaves,
                                     std::vector<std::uint64_t>& missing);

 private:
  struct Entry {
    std::uint32_t file = 0;
    std::uint32_t size_bytes = 0;
    std::uint64_t file_offset = 0;
    std::uint64_t digest = 0;
  };

  std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace hiptool::load
