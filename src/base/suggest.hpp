// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/near_path.hpp"

namespace hiptool::base {

/// The candidate a misspelt word most likely means: the only one that it is a part of ("triad" of
/// "stream-triad"), one at most two edits away, fewer than half of the word and with its digits, or
/// the only one that it begins.
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

/// "did you mean 'devices'?" or empty.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace hiptool::base
