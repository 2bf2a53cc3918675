// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace hiptool::model {

/// True for well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates).
bool is_utf8(std::string_view text) noexcept;

/// A name from a file in quotes, fit for a one-line message: control and non-UTF-8 bytes as \xNN,
/// names of more than 100 bytes shortened.
std::string in_quotes(std::string_view name);

/// Adds the byte as two hexadecimal digits in lower case.
void append_hex(std::string& text, std::uint8_t byte);

}  // namespace hiptool::model
