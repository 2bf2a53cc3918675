// SPDX-License-Identifier: MIT
#include "load/place/margin.hpp"

#include <algorithm>

namespace hiptool::load {

std::uint64_t margin_bytes(std::uint64_t size_bytes, bool is_host_memory) noexcept {
  constexpr std::uint64_t least_bytes = 64u << 20;
  return is_host_memory ? 0 : std::max(size_bytes / 20, least_bytes);
}

std::uint64_t most_arena_bytes(std::uint64_t free_bytes, bool is_host_memory) noexcept {
  std::uint64_t low = 0;
  std::uint64_t high = free_bytes;
  while (low < high) {
    const std::uint64_t middle = low + (high - low + 1) / 2;
    if (margin_bytes(middle, is_host_memory) <= free_bytes - middle) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

}  // namespace hiptool::load
