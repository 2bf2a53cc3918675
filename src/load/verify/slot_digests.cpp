// SPDX-License-Identifier: MIT
#include "load/verify/slot_digests.hpp"

#include <algorithm>
#include <new>
#include <tuple>

#include "load/verify/digest.hpp"

namespace hiptool::load {

SlotDigests::SlotDigests(const ModelFile& model, const BlockMap& blocks)
    : model_(model),
      blocks_(blocks),
      digests_(static_cast<std::uint64_t*>(
          std::calloc(std::max<std::uint64_t>(1, blocks.count()), sizeof(std::uint64_t)))) {
  if (digests_ == nullptr) throw std::bad_alloc();
  const auto tensors = model.tensors();
  for (std::uint32_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].size_bytes > 0) by_offset_.push_back(i);
  }
}

void SlotDigests::on_part(std::span<const std::byte> bytes, const Piece& part) {
  const auto tensors = model_.tensors();
  // The last tensor that begins at or before the part: no two of a file overlap.
  const auto next = std::ranges::partition_point(by_offset_, [&](std::uint32_t index) {
    return std::tie(tensors[index].file, tensors[index].file_offset) <=
           std::tie(part.file, part.in_file.offset);
  });
  if (next == by_offset_.begin()) return;
  const std::uint32_t index = *(next - 1);
  const TensorInfo& tensor = tensors[index];
  std::uint64_t at = part.in_file.offset - tensor.file_offset;
  if (tensor.file != part.file || at % block_bytes != 0) return;
  while (!bytes.empty() && at < tensor.size_bytes) {
    // A block that is longer or shorter was not read as the header has it.
    const auto size_bytes = std::min<std::uint64_t>(block_bytes, bytes.size());
    if (size_bytes != std::min(block_bytes, tensor.size_bytes - at)) return;
    digests_[blocks_.first[index] + at / block_bytes] = block_digest(bytes.first(size_bytes));
    bytes = bytes.subspan(size_bytes);
    at += size_bytes;
  }
}

}  // namespace hiptool::load
