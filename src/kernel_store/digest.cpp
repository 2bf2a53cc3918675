// SPDX-License-Identifier: MIT
#include "kernel_store/digest.hpp"

#include <algorithm>

#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "kernel_store/kernel_loader.hpp"

namespace hiptool::kernel_store {
namespace {

constexpr std::uint64_t digest_block_bytes = 16384;
constexpr std::uint32_t block_threads = 256;
constexpr std::uint64_t digest_blocks_per_thread_block = 32;  // eight threads share one
// Measured on an H200: 2, 4, 8 and 16 thread blocks a multiprocessor read 3.4, 4.1, 4.2 and
// 4.27 TB/s.
constexpr std::uint64_t thread_blocks_per_unit = 16;

constexpr std::uint64_t divide_up(std::uint64_t value, std::uint64_t divisor) {
  return value / divisor + (value % divisor != 0 ? 1 : 0);
}

Error range_error(const std::string& what, std::uint64_t size, std::uint64_t offset,
                  std::uint64_t available) {
  return Error(ErrorCode::out_of_bounds, "digest",
               std::to_string(size) + " " + what + " from " + std::to_string(offset) +
                   " on do not fit in " + std::to_string(available));
}

}  // namespace

DigestTable::DigestTable(const Buffer& data, std::span<const DigestRange> ranges) : data_(data) {
  static_assert(sizeof(Entry) == 24, "the kernel has three words");
  auto addresses = reinterpret_cast<std::uintptr_t>(data.address());
  for (const DigestRange& range : ranges) {
    if (range.device_offset > data.size_bytes() ||
        range.size_bytes > data.size_bytes() - range.device_offset) {
      throw range_error("bytes", range.size_bytes, range.device_offset, data.size_bytes());
    }
    if (range.size_bytes == 0) continue;
    entries_.push_back({range.device_offset, range.size_bytes, block_count_});
    block_count_ += divide_up(range.size_bytes, digest_block_bytes);
    addresses |= range.device_offset;
  }
  alignment_ = addresses % 16 == 0 ? 16 : 1;
  if (entries_.empty()) return;
  on_device_ = Buffer(data.device(), entries_.size() * sizeof(Entry));
  copy_h2d_and_wait(on_device_, std::as_bytes(std::span(entries_)));
}

BlockDigester::BlockDigester(KernelLoader& loader)
    : kernel_(loader.kernel("hiptool_tensor_digests")),
      image_(loader.load("digest").image),
      most_thread_blocks_(loader.device().info().compute_units.value_or(1) *
                          thread_blocks_per_unit) {}

void BlockDigester::digest(const DigestTable& table, std::uint64_t first_block,
                           std::uint64_t end_block, const Buffer& digests,
                           const StreamRef& stream) {
  const std::uint64_t places = digests.size_bytes() / sizeof(std::uint64_t);
  const std::uint64_t available = std::min(table.block_count(), places);
  if (first_block > end_block || end_block > available) {
    throw range_error("blocks", end_block - first_block, first_block, available);
  }
  if (first_block == end_block) return;
  if (reinterpret_cast<std::uintptr_t>(digests.address()) % sizeof(std::uint64_t) != 0) {
    throw Error(ErrorCode::invalid_argument, "digest",
                "the list of digests does not begin at a multiple of 8 bytes");
  }
  // Only the entries of these blocks, so that the kernel needs fewer steps to find one.
  using Entry = DigestTable::Entry;
  const auto& entries = table.entries_;
  const auto end = std::ranges::partition_point(
      entries, [&](const Entry& entry) { return entry.first_block < end_block; });
  const auto first =
      std::partition_point(entries.begin(), end,
                           [&](const Entry& entry) { return entry.first_block <= first_block; }) -
      1;
  const auto count = static_cast<std::uint64_t>(end - first);
  const auto place = static_cast<std::uint64_t>(first - entries.begin());
  const Buffer ranges = table.on_device_.view(place * sizeof(Entry), count * sizeof(Entry));
  const std::uint64_t thread_blocks = std::min(
      divide_up(end_block - first_block, digest_blocks_per_thread_block), most_thread_blocks_);
  LaunchConfig config;
  config.grid.x = static_cast<std::uint32_t>(thread_blocks);
  config.block.x = block_threads;
  launch(kernel_, config, stream, table.data_, ranges, count, first_block, end_block,
         table.alignment_, digests);
}

}  // namespace hiptool::kernel_store
