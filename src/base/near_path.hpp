// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace hiptool::base {

/// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
std::size_t edit_distance(std::string_view left, std::string_view right);

/// For a path that does not exist: "did you mean DIR/m-Q4_K_M.gguf?" where its first missing part
/// has a near match in its folder (few letters differ, or only upper and lower case, or it is the
/// only name that begins so), else the advice to check the spelling.
std::string spelling_hint(const std::filesystem::path& path);

}  // namespace hiptool::base
