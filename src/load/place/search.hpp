// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace hiptool::load {

/// The largest number up to `most` that the condition holds for; it holds for 0 or the answer is 0,
/// and for no number above one for which it does not hold.
template <class Condition>
std::uint64_t largest(std::uint64_t most, const Condition& holds) {
  std::uint64_t low = 0;
  std::uint64_t high = most;
  while (low < high) {
    const std::uint64_t middle = low + (high - low - 1) / 2 + 1;
    if (holds(middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

}  // namespace hiptool::load
