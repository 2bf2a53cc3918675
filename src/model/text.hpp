// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace hiptool::model {

/// True for well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates).
bool is_utf8(std::string_view text) noexcept;

/// A name from a file in quotes, fit for a one-line message: control and non-UTF-8 bytes as \xNN,
/// long names shortened.
std::string in_quotes(std::string_view name, std::size_t limit_bytes = 100);

}  // namespace hiptool::model
