// SPDX-License-Identifier: MIT
#include "kernel_store/references.hpp"

#include <algorithm>
#include <mutex>

#include "base/xxh3.hpp"
#include "hip/cpu/kernel_table.hpp"
#include "kernel_store/value_check.hpp"

namespace hiptool::kernel_store {
namespace {

using hip::cpu::Dimensions;

void tensor_digests(Dimensions, Dimensions, void* const* arguments) {
  constexpr std::uint64_t digest_block_bytes = 16384;
  struct Range {
    std::uint64_t device_offset, size_bytes, first_block;
  };
  const auto* const arena = value_at<const std::uint8_t*>(arguments, 0);
  const auto* const ranges = value_at<const Range*>(arguments, 1);
  const auto range_count = value_at<std::uint64_t>(arguments, 2);
  const auto end_block = value_at<std::uint64_t>(arguments, 4);
  auto* const digests = value_at<std::uint64_t*>(arguments, 6);
  const auto after = [](std::uint64_t block, const Range& range) {
    return block < range.first_block;
  };
  auto block = value_at<std::uint64_t>(arguments, 3);
  const Range* range = std::upper_bound(ranges, ranges + range_count, block, after) - 1;
  for (; block < end_block; ++range) {
    std::uint64_t done = (block - range->first_block) * digest_block_bytes;
    for (; done < range->size_bytes && block < end_block; done += digest_block_bytes) {
      digests[block++] = base::xxh3_64(arena + range->device_offset + done,
                                       std::min(digest_block_bytes, range->size_bytes - done));
    }
  }
}

}  // namespace

void register_references() {
  static std::once_flag once;
  std::call_once(once, [] {
    hip::cpu::register_native("hiptool_tensor_digests", tensor_digests);
    hip::cpu::register_native("hiptool_value_check", check_values_natively);
    register_bench_references();
  });
}

}  // namespace hiptool::kernel_store
