// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <iterator>

namespace hiptool::base {

template <class Range, class Value>
constexpr bool contains(const Range& range, const Value& value) {
  return std::ranges::find(range, value) != std::end(range);
}

/// Appends the value unless the list has it.
template <class List, class Value>
void add_once(List& list, const Value& value) {
  if (!contains(list, value)) list.push_back(value);
}

}  // namespace hiptool::base
