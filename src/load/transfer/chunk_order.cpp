// SPDX-License-Identifier: MIT
#include "load/transfer/chunk_order.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hiptool::load {
namespace {

using Chunks = std::vector<base::ByteRange>;

// What is left without the small chunks at both ends; not empty unless there are no chunks at all.
std::pair<Chunks::iterator, Chunks::iterator> without_ramp(Chunks& chunks) {
  std::uint64_t largest = 0;
  for (const base::ByteRange& chunk : chunks) largest = std::max(largest, chunk.size_bytes);
  const auto is_large = [&](const base::ByteRange& chunk) {
    return chunk.size_bytes >= largest / 2;
  };
  return {std::ranges::find_if(chunks, is_large),
          std::find_if(chunks.rbegin(), chunks.rend(), is_large).base()};
}

}  // namespace

Chunks order_chunks(Chunks chunks, std::uint32_t regions) {
  const auto [first, end] = without_ramp(chunks);
  const auto count = std::min<std::uint64_t>(regions, static_cast<std::uint64_t>(end - first));
  if (count < 2) return chunks;
  const std::uint64_t begin = first->offset;
  const std::uint64_t size_bytes = std::prev(end)->end() - begin;
  const std::uint64_t region_bytes = size_bytes / count + (size_bytes % count != 0 ? 1 : 0);

  std::vector<std::pair<std::uint64_t, base::ByteRange>> turns;  // with the number of the turn
  std::uint64_t turn = 0;
  std::uint64_t region = 0;
  for (auto chunk = first; chunk != end; ++chunk, ++turn) {
    const std::uint64_t own = (chunk->offset - begin) / region_bytes;
    if (own != region) turn = 0;
    region = own;
    turns.emplace_back(turn, *chunk);
  }
  std::ranges::stable_sort(
      turns, [](const auto& left, const auto& right) { return left.first < right.first; });
  std::transform(turns.begin(), turns.end(), first, [](const auto& one) { return one.second; });
  return chunks;
}

}  // namespace hiptool::load
