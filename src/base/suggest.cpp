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

// Whether the word is whole parts of a name such as "stream-triad" or "--write-golden".
bool is_part_of(std::string_view name, std::string_view word) {
  constexpr std::string_view separators = "-_.";
  for (std::size_t at = 0; (at = name.find(word, at)) != std::string_view::npos; ++at) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || separators.find(name[at - 1]) != std::string_view::npos;
    const bool ends = end == name.size() || separators.find(name[end]) != std::string_view::npos;
    if (begins && ends) return true;
  }
  return false;
}

// The only candidate that the word is a part of; shorter words are parts by chance.
std::optional<std::string> only_with_part(std::string_view word,
                                          const std::vector<std::string>& candidates) {
  constexpr std::size_t least_letters = 3;
  word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
  std::optional<std::string> found;
  if (word.size() < least_letters) return found;
  for (const std::string& candidate : candidates) {
    if (!is_part_of(candidate, word) || found == candidate) continue;
    if (found) return {};
    found = candidate;
  }
  return found;
}

}  // namespace

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  if (auto whole = only_with_part(word, candidates)) return whole;
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
