// SPDX-License-Identifier: MIT
#include "model/header_survey.hpp"

#include <algorithm>
#include <utility>

#include "model/name_index.hpp"

namespace hiptool::model {

bool HeaderSurvey::add(Space space, std::string_view name) {
  const std::uint64_t hash = wide_hash_of_name(name) ^ static_cast<std::uint64_t>(space);
  if (!wanted_) {
    const bool is_repeated = !hashes_.empty() && hashes_.back() == hash && last_ == name;
    hashes_.push_back(hash);
    last_ = name;
    return !is_repeated;
  }
  return hash != *wanted_ || seen_.emplace(name).second;
}

std::optional<std::uint64_t> HeaderSurvey::repeated_hash() {
  std::ranges::sort(hashes_);
  const auto found = std::ranges::adjacent_find(hashes_);
  if (found == hashes_.end()) return std::nullopt;
  return *found;
}

}  // namespace hiptool::model
