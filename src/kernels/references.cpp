// SPDX-License-Identifier: MIT
#include "kernels/references.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "base/xxh3.hpp"

namespace hiptool::kernels::references {
namespace {

template <class Value>
Value value_at(void* const* arguments, std::size_t index) {
  Value value{};
  std::memcpy(&value, arguments[index], sizeof(Value));
  return value;
}

void copy(void* const* arguments, std::uint64_t element_bytes) {
  const auto count = value_at<std::uint64_t>(arguments, 2);
  if (count == 0) return;  // the addresses may be null then
  std::memcpy(value_at<void*>(arguments, 1), value_at<const void*>(arguments, 0),
              count * element_bytes);
}

/// As kernels/pattern.hip defines it.
std::uint32_t pattern_word(std::uint64_t index, std::uint32_t seed) {
  std::uint32_t word = static_cast<std::uint32_t>(index) * 0x9E3779B1u +
                       static_cast<std::uint32_t>(index >> 32) * 0x85EBCA77u + seed * 0xC2B2AE3Du;
  word = (word ^ word >> 15) * 0x85EBCA77u;
  word = (word ^ word >> 13) * 0xC2B2AE3Du;
  return word ^ word >> 16;
}

}  // namespace

void fill_u32(Dimensions, Dimensions, void* const* arguments) {
  std::fill_n(value_at<std::uint32_t*>(arguments, 0), value_at<std::uint64_t>(arguments, 1),
              value_at<std::uint32_t>(arguments, 2));
}

void copy_16(Dimensions, Dimensions, void* const* arguments) { copy(arguments, 16); }

void copy_1(Dimensions, Dimensions, void* const* arguments) { copy(arguments, 1); }

void pattern_write(Dimensions, Dimensions, void* const* arguments) {
  auto* const out = value_at<std::uint32_t*>(arguments, 0);
  const auto count = value_at<std::uint64_t>(arguments, 1);
  const auto seed = value_at<std::uint32_t>(arguments, 2);
  for (std::uint64_t i = 0; i < count; ++i) out[i] = pattern_word(i, seed);
}

void pattern_check(Dimensions, Dimensions, void* const* arguments) {
  const auto* const in = value_at<const std::uint32_t*>(arguments, 0);
  const auto count = value_at<std::uint64_t>(arguments, 1);
  const auto seed = value_at<std::uint32_t>(arguments, 2);
  auto* const result = value_at<std::uint64_t*>(arguments, 3);
  std::uint64_t wrong = 0;
  std::uint64_t first = 0;
  std::uint64_t bits = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint32_t difference = in[i] ^ pattern_word(i, seed);
    if (difference == 0) continue;
    if (wrong == 0) first = i;
    ++wrong;
    bits |= difference;
  }
  if (wrong == 0) return;
  // Checks on several streams may share one result.
  std::atomic_ref(result[0]).fetch_add(wrong);
  std::atomic_ref least(result[1]);
  for (std::uint64_t known = least.load(); known > first;) {
    if (least.compare_exchange_weak(known, first)) break;
  }
  std::atomic_ref(result[2]).fetch_or(bits);
}

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

}  // namespace hiptool::kernels::references
