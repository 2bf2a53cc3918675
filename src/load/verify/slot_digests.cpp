// SPDX-License-Identifier: MIT
#include "load/verify/slot_digests.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <thread>
#include <tuple>
#include <utility>

#include "load/verify/digest.hpp"

namespace hiptool::load {

void SlotDigests::on_part(std::span<const std::byte> bytes, const Piece& part) {
  std::vector<std::uint64_t> digests;
  add_block_digests(bytes, digests);
  Shard& shard = shards_[std::hash<std::thread::id>()(std::this_thread::get_id()) % shards_.size()];
  const std::lock_guard lock(shard.mutex);
  if (shard.runs.empty() || !shard.runs.back().is_continued_by(part)) {
    shard.runs.push_back({part.file, part.in_file, std::move(digests)});
    return;
  }
  Run& run = shard.runs.back();
  run.in_file.size_bytes += part.in_file.size_bytes;
  run.digests.insert(run.digests.end(), digests.begin(), digests.end());
}

std::vector<std::uint64_t> SlotDigests::collect(const ModelFile& model, const BlockMap& blocks) {
  std::vector<Run> runs;
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    std::ranges::move(shard.runs, std::back_inserter(runs));
    shard.runs.clear();
  }
  std::ranges::sort(runs, [](const Run& left, const Run& right) {
    return std::tie(left.file, left.in_file.offset) < std::tie(right.file, right.in_file.offset);
  });
  std::vector<std::uint64_t> digests(blocks.count());
  for (std::size_t index = 0; index < model.tensors().size(); ++index) {
    const TensorInfo& tensor = model.tensors()[index];
    std::uint64_t block = blocks.first[index];
    // The last run that begins at or before the tensor; the following ones are next to it.
    auto run = std::ranges::partition_point(runs, [&](const Run& candidate) {
      return std::tie(candidate.file, candidate.in_file.offset) <=
             std::tie(tensor.file, tensor.file_offset);
    });
    if (run != runs.begin()) --run;
    for (std::uint64_t at = 0; at < tensor.size_bytes; at += block_bytes, ++block) {
      const std::uint64_t wanted = tensor.file_offset + at;
      while (run != runs.end() && run->file == tensor.file && run->in_file.end() <= wanted) ++run;
      const std::uint64_t size_bytes = std::min(block_bytes, tensor.size_bytes - at);
      const auto* digest = run != runs.end() ? run->find(tensor.file, wanted, size_bytes) : nullptr;
      if (digest != nullptr) digests[block] = *digest;
    }
  }
  return digests;
}

// Of the whole blocks of one part of a tensor: behind a last, shorter one no block of it begins.
bool SlotDigests::Run::is_continued_by(const Piece& part) const {
  return part.file == file && part.in_file.offset == in_file.end() &&
         in_file.size_bytes % block_bytes == 0;
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
