// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>

namespace hiptool::measure {

/// Whether a part of a threshold's name ("256MiB", "256M", "268435456") means the size that stands
/// in an id ("256MiB"; "90%" of the memory means itself).
bool means_size(std::string_view part, std::string_view size_word);

/// Whether such a part is a size at all, or a share of the memory.
bool is_size(std::string_view part);

}  // namespace hiptool::measure
