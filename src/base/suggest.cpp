// SPDX-License-Identifier: MIT
#include "base/suggest.hpp"

#include <algorithm>

namespace hiptool::base {
namespace {

// In any order: a word with other numbers than the candidate is another word, not a misspelling.
std::string digits_of(std::string_view word) {
  std::string digits;
  for (const char letter : word) {
    if (letter >= '0' && letter <= '9') digits += letter;
  }
  std::sort(digits.begin(), digits.end());
  return digits;
}

}  // namespace

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  const std::size_t limit = std::min<std::size_t>(2, (word.size() - (word.empty() ? 0 : 1)) / 2);
  std::optional<std::string> best;
  std::size_t best_distance = limit + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && digits_of(word) == digits_of(candidate)) {
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

}  // namespace hiptool::base
