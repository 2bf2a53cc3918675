// SPDX-License-Identifier: MIT
#include "kernels/references.hpp"

#include <algorithm>
#include <cstdint>
#include <mutex>

#include "base/xxh3.hpp"
#include "hip/cpu/kernel_table.hpp"
#include "kernels/value_check.hpp"

namespace hiptool::kernels {
namespace {

using hip::cpu::Dimensions;

void tensor_digests(Dimensions, Dimensions, void* const* arguments) {
  constexpr std::uint64_t leaf_bytes = 16384;
  struct Range {
    std::uint64_t device_offset, size_bytes, first_leaf;
  };
  const auto* const arena = value_at<const std::uint8_t*>(arguments, 0);
  const auto* const ranges = value_at<const Range*>(arguments, 1);
  const auto range_count = value_at<std::uint64_t>(arguments, 2);
  const auto end_leaf = value_at<std::uint64_t>(arguments, 4);
  auto* const digests = value_at<std::uint64_t*>(arguments, 6);
  const auto after = [](std::uint64_t leaf, const Range& range) { return leaf < range.first_leaf; };
  auto leaf = value_at<std::uint64_t>(arguments, 3);
  const Range* range = std::upper_bound(ranges, ranges + range_count, leaf, after) - 1;
  for (; leaf < end_leaf; ++range) {
    std::uint64_t done = (leaf - range->first_leaf) * leaf_bytes;
    for (; done < range->size_bytes && leaf < end_leaf; done += leaf_bytes) {
      digests[leaf++] = base::xxh3_64(arena + range->device_offset + done,
                                      std::min(leaf_bytes, range->size_bytes - done));
    }
  }
}

}  // namespace

void register_references() {
  static std::once_flag once;
  std::call_once(once, [] {
    hip::cpu::register_native("hiptool_tensor_digests", tensor_digests);
    hip::cpu::register_native("hiptool_value_check", check_values_natively);
  });
}

}  // namespace hiptool::kernels
