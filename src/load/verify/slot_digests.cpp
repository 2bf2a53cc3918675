// SPDX-License-Identifier: MIT
#include "load/verify/slot_digests.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "load/verify/digest.hpp"

namespace hiptool::load {

void SlotDigests::on_part(std::span<const std::byte> bytes, const Piece& part) {
  Run run{part.file, part.in_file, {}};
  add_block_digests(bytes, run.digests);
  const std::lock_guard lock(mutex_);
  runs_.push_back(std::move(run));
}

std::vector<std::uint64_t> SlotDigests::collect(const ModelFile& model, const BlockMap& blocks) {
  const std::lock_guard lock(mutex_);
  std::ranges::sort(runs_, [](const Run& left, const Run& right) {
    return std::tie(left.file, left.in_file.offset) < std::tie(right.file, right.in_file.offset);
  });
  std::vector<std::uint64_t> digests(blocks.count());
  for (std::size_t index = 0; index < model.tensors().size(); ++index) {
    const TensorInfo& tensor = model.tensors()[index];
    std::uint64_t block = blocks.first[index];
    // The last run that begins at or before the tensor; the following ones are next to it.
    auto run = std::ranges::partition_point(runs_, [&](const Run& candidate) {
      return std::tie(candidate.file, candidate.in_file.offset) <=
             std::tie(tensor.file, tensor.file_offset);
    });
    if (run != runs_.begin()) --run;
    for (std::uint64_t at = 0; at < tensor.size_bytes; at += block_bytes, ++block) {
      const std::uint64_t wanted = tensor.file_offset + at;
      while (run != runs_.end() && run->file == tensor.file && run->in_file.end() <= wanted) ++run;
      const std::uint64_t size_bytes = std::min(block_bytes, tensor.size_bytes - at);
      const auto* digest =
          run != runs_.end() ? run->find(tensor.file, wanted, size_bytes) : nullptr;
      if (digest != nullptr) digests[block] = *digest;
    }
  }
  return digests;
}

// A block that begins elsewhere, or is longer or shorter, was not read as the header has it.
const std::uint64_t* SlotDigests::Run::find(std::uint32_t wanted_file, std::uint64_t offset,
                                            std::uint64_t wanted_bytes) const {
  if (wanted_file != file || offset < in_file.offset || offset >= in_file.end()) return nullptr;
  const std::uint64_t at = offset - in_file.offset;
  if (at % block_bytes != 0) return nullptr;
  if (std::min(block_bytes, in_file.size_bytes - at) != wanted_bytes) return nullptr;
  return &digests[at / block_bytes];
}

}  // namespace hiptool::load
