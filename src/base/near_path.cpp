// SPDX-License-Identifier: MIT
#include "base/near_path.hpp"

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace hiptool::base {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_names_compared = 10'000;
constexpr std::size_t most_name_bytes = 255;  // of Linux's file systems

// One letter of eight may be wrong, and never more than four.
std::size_t most_edits(std::string_view name) {
  return std::min<std::size_t>(name.size() / 8 + 1, 4);
}

// The nearest name in the folder; empty where none is near, or several begin so.
std::string near_name(const fs::path& folder, std::string_view name) {
  std::string best;
  std::size_t best_edits = most_edits(name) + 1;
  std::vector<std::string> longer;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (std::size_t count = 0; !error && entry != fs::directory_iterator(); ++count) {
    if (count == most_names_compared) return {};
    std::string other = entry->path().filename().string();
    entry.increment(error);
    if (other.size() > most_name_bytes) continue;
    if (equals_ignoring_case(other, name)) return other;
    if (other.starts_with(name)) longer.push_back(other);
    const std::size_t edits = edit_distance(name, other);
    const bool is_better = edits < best_edits || (edits == best_edits && other < best);
    if (!is_better || edits * 2 >= name.size()) continue;
    best_edits = edits;
    best = std::move(other);
  }
  if (best.empty() && longer.size() == 1 && name.size() > 1) return longer.front();
  return best;
}

}  // namespace

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

std::string spelling_hint(const fs::path& path) {
  std::error_code error;
  fs::path found;
  for (auto part = path.begin(); part != path.end(); ++part) {
    fs::path next = found / *part;
    if (fs::exists(fs::symlink_status(next, error))) {
      found = std::move(next);
      continue;
    }
    const std::string name = part->string();
    if (name.empty() || name.size() > most_name_bytes) break;
    const std::string nearest = near_name(found.empty() ? "." : found, name);
    if (nearest.empty()) break;
    next = found / nearest;
    while (++part != path.end()) next /= *part;
    // The rest of it may be wrong too; then only the folder is named.
    if (fs::exists(next, error)) return "did you mean " + next.string() + "?";
    return "did you mean " + (found / nearest).string() + "?";
  }
  return "check the spelling of the path";
}

}  // namespace hiptool::base
