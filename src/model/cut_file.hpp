// SPDX-License-Identifier: MIT
/// Files that were cut into pieces of bytes, and whole files that were joined by `cat`.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "model/diagnostics.hpp"

namespace hiptool::model {

/// The name of a piece of a model file that was cut into bytes, which `cat` joins again:
/// "m.gguf.part1of2", "m.gguf-split-a", "m.gguf.001", "m.gguf.aa".
struct PieceName {
  std::string whole;      ///< "m.gguf"
  std::string label;      ///< "1", "a", "001", "aa"
  std::size_t total = 0;  ///< 0 where the name does not say
};

/// Absent for any other name, such as that of an unfinished download.
std::optional<PieceName> parse_piece_name(std::string_view file_name);

/// Names of the folder's pieces of that file, in their order.
std::vector<std::string> pieces_of(const std::filesystem::path& folder, const std::string& whole);

/// Refuses the path (a piece, or the folder with it), with the command that joins the pieces. Not
/// one piece alone whose name has no total: any program may have given it its name.
void refuse_piece(const std::filesystem::path& path, const std::filesystem::path& folder,
                  const PieceName& piece);

/// Where another GGUF file begins behind one whose data end there, at most that many bytes on.
std::optional<std::uint64_t> gguf_behind(const base::File& file, std::uint64_t end,
                                         std::uint64_t alignment);

/// Refuses a file that is several files joined by `cat`; the first of them ends there.
[[noreturn]] void refuse_joined(const std::filesystem::path& path, std::uint64_t first_bytes,
                                const Diagnostics& diagnostics);

}  // namespace hiptool::model
