// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <iterator>

namespace hiptool::base {

template <class Range, class Value>
constexpr bool contains(const Range& range, const Value& value) {
  return std::ranges::find(range, value) != std::end(range);
}

}  // namespace hiptool::base
