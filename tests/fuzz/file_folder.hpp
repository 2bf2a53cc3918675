// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "input.hpp"

namespace hiptool::fuzz {

/// Stands between the pieces of an input that becomes several files.
inline constexpr std::string_view piece_mark = "\n--8<--\n";

/// A folder of the disk in memory.
class FileFolder {
 public:
  explicit FileFolder(std::string path = "/f") : path_(std::move(path)) {}

  /// Writes one piece into each of the files, in their order. Files for which there is no piece are
  /// removed; pieces for which there is no file are passed over.
  void write(const Input& input, const std::vector<std::string>& names) const;
  void write(const std::string& name, std::string_view bytes, std::uint64_t zeros = 0) const;
  void link(const std::string& name, const std::string& target) const;

  /// Empties the folder and writes a file from each piece, whose first line is the file's path in
  /// it. Paths that lead elsewhere, and files beyond the sixteenth, are passed over.
  void write_named(const Input& input) const;
  const std::string& path() const noexcept { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace hiptool::fuzz
