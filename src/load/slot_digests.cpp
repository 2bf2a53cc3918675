// SPDX-License-Identifier: MIT
#include "load/slot_digests.hpp"

#include <algorithm>
#include <tuple>

#include "load/digest.hpp"

namespace hiptool::load {

void SlotDigests::add(std::span<const std::byte> bytes, std::span<const Piece> pieces) {
  std::vector<Entry> found;
  for (const Piece& piece : pieces) {
    for (std::uint64_t at = 0; at < piece.size_bytes; at += leaf_bytes) {
      const std::uint64_t size_bytes = std::min(leaf_bytes, piece.size_bytes - at);
      found.push_back({piece.file, static_cast<std::uint32_t>(size_bytes), piece.file_offset + at,
                       leaf_digest(bytes.subspan(piece.range_offset + at, size_bytes))});
    }
  }
  const std::lock_guard lock(mutex_);
  entries_.insert(entries_.end(), found.begin(), found.end());
}

std::vector<std::uint64_t> SlotDigests::collect(const ModelFile& model, const LeafMap& leaves,
                                                std::vector<std::uint64_t>& missing) {
  const std::lock_guard lock(mutex_);
  const auto key = [](const Entry& entry) { return std::tuple(entry.file, entry.file_offset); };
  std::sort(entries_.begin(), entries_.end(),
            [&](const Entry& left, const Entry& right) { return key(left) < key(right); });
  std::vector<std::uint64_t> digests(leaves.count());
  for (const LeafRange& range : cut_leaf_ranges(model, leaf_bytes)) {
    const TensorInfo& tensor = model.tensors()[range.tensor];
    const std::uint64_t leaf = leaves.first[range.tensor] + range.tensor_offset / leaf_bytes;
    const auto wanted = std::tuple(tensor.file, tensor.file_offset + range.tensor_offset);
    const auto entry = std::lower_bound(
        entries_.begin(), entries_.end(), wanted,
        [&](const Entry& candidate, const auto& value) { return key(candidate) < value; });
    if (entry != entries_.end() && key(*entry) == wanted && entry->size_bytes == range.size_bytes) {
      digests[leaf] = entry->digest;
    } else {
      missing.push_back(leaf);
    }
  }
  return digests;
}

}  // namespace hiptool::load
