// SPDX-License-Identifier: MIT
/// Screens kept in tests/screens: what a command prints of a fixed result.
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace hiptool::report {
struct Report;
}

namespace hiptool::test {

/// What a command prints on a terminal of that many columns, or without them in a pipe.
using Screen = std::function<std::string(std::optional<std::size_t> columns)>;

/// Compares the screens of terminals of 80 and 120 columns and of a pipe with the kept ones, where
/// equal ones are kept once. No line is wider than its terminal, a wider terminal has all words of
/// a narrower one, and a pipe has all words of both and cuts nothing. With HIPTOOL_WRITE_SCREENS
/// in the environment it writes the screens instead.
void check_kept_screen(const std::string& name, const Screen& screen);

/// The same of a report, on terminals of 24 lines.
void check_kept_screen(const std::string& name, const report::Report& report);

}  // namespace hiptool::test
