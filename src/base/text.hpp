// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>

namespace hiptool::base {

/// True when two texts differ in nothing but the case of ASCII letters, whatever the locale is.
bool equals_ignoring_case(std::string_view left, std::string_view right) noexcept;

}  // namespace hiptool::base
