// SPDX-License-Identifier: MIT
#include "cli/suggest.hpp"

#include <algorithm>
#include <utility>

namespace hiptool::cli {

std::size_t edit_distance(std::string_view left, std::string_view right) {
  const std::size_t columns = right.size() + 1;
  std::vector<std::size_t> two_before(columns);
  std::vector<std::size_t> before(columns);
  std::vector<std::size_t> current(columns);
  for (std::size_t j = 0; j < columns; ++j) before[j] = j;
  for (std::size_t i = 1; i <= left.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j < columns; ++j) {
      const std::size_t replace = before[j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
      current[j] = std::min({before[j] + 1, current[j - 1] + 1, replace});
      const bool is_swap =
          i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
      if (is_swap) current[j] = std::min(current[j], two_before[j - 2] + 1);
    }
    std::swap(two_before, before);
    std::swap(before, current);
  }
  return before.back();
}

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  const std::size_t limit = std::min<std::size_t>(2, (word.size() - (word.empty() ? 0 : 1)) / 2);
  std::optional<std::string> best;
  std::size_t best_distance = limit + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  if (best || word.size() < 2) return best;
  for (const std::string& candidate : candidates) {
    if (candidate.compare(0, word.size(), word) != 0) continue;
    if (best) return {};  // begins two of them
    best = candidate;
  }
  return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  const auto candidate = nearest(word, candidates);
  return candidate ? "did you mean '" + *candidate + "'?" : "";
}

}  // namespace hiptool::cli
