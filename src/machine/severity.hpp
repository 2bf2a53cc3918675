// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>

namespace hiptool::machine {

enum class Severity { pass, info, warn, fail, unknown };

/// "pass", "info", "warn", "fail" or "unknown".
std::string_view to_string(Severity severity) noexcept;

}  // namespace hiptool::machine
