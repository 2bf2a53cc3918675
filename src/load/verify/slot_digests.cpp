// SPDX-License-Identifier: MIT
#include "load/verify/slot_digests.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "load/verify/digest.hpp"

namespace hiptool::load {

void SlotDigests::on_read(const Chunk&, std::span<const std::byte> bytes,
                          std::span<const Piece> pieces) {
  std::vector<Run> found;
  for (const Piece& piece : pieces) {
    Run run{piece.file, piece.file_offset, piece.size_bytes, {}};
    for (std::uint64_t at = 0; at < piece.size_bytes; at += block_bytes) {
      const std::uint64_t size_bytes = std::min(block_bytes, piece.size_bytes - at);
      run.digests.push_back(block_digest(bytes.subspan(piece.range_offset + at, size_bytes)));
    }
    found.push_back(std::move(run));
  }
  const std::lock_guard lock(mutex_);
  std::move(found.begin(), found.end(), std::back_inserter(runs_));
}

std::vector<std::uint64_t> SlotDigests::collect(const ModelFile& model, const BlockMap& blocks) {
  const std::lock_guard lock(mutex_);
  const auto stands_before = [](const auto& left, const auto& right) {
    return std::tie(left.file, left.file_offset) < std::tie(right.file, right.file_offset);
  };
  std::sort(runs_.begin(), runs_.end(), stands_before);
  std::vector<std::uint64_t> digests(blocks.count());
  for (std::size_t index = 0; index < model.tensors().size(); ++index) {
    const TensorInfo& tensor = model.tensors()[index];
    std::uint64_t block = blocks.first[index];
    // The last run that begins at or before the tensor; the following ones are next to it.
    auto run = std::upper_bound(runs_.begin(), runs_.end(), tensor, stands_before);
    if (run != runs_.begin()) --run;
    for (std::uint64_t at = 0; at < tensor.size_bytes; at += block_bytes, ++block) {
      const std::uint64_t wanted = tensor.file_offset + at;
      while (run != runs_.end() && run->file == tensor.file && run->end() <= wanted) ++run;
      const std::uint64_t size_bytes = std::min(block_bytes, tensor.size_bytes - at);
      const auto* digest =
          run != runs_.end() ? run->find(tensor.file, wanted, size_bytes) : nullptr;
      if (digest != nullptr) digests[block] = *digest;
    }
  }
  return digests;
}

// A block that begins elsewhere, or is longer or shorter, was not read as the header has it.
const std::uint64_t* SlotDigests::Run::find(std::uint32_t in_file, std::uint64_t offset,
                                            std::uint64_t wanted_bytes) const {
  if (in_file != file || offset < file_offset || offset >= end()) return nullptr;
  const std::uint64_t at = offset - file_offset;
  if (at % block_bytes != 0 || std::min(block_bytes, size_bytes - at) != wanted_bytes)
    return nullptr;
  return &digests[at / block_bytes];
}

}  // namespace hiptool::load
