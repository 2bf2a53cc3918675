// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace hiptool::fuzz {

/// Stands between the pieces of an input that becomes several files.
inline constexpr std::string_view piece_mark = "\n--8<--\n";

/// A folder of its own below TMPDIR, else in memory where the system has /dev/shm, else below the
/// system's folder for temporary files; removed when the process ends in order.
class FileFolder {
 public:
  FileFolder();
  ~FileFolder();
  FileFolder(const FileFolder&) = delete;
  FileFolder& operator=(const FileFolder&) = delete;

  /// Writes one piece into each of the files, in their order. Files for which there is no piece are
  /// removed; pieces for which there is no file are passed over.
  void write(const std::uint8_t* bytes, std::size_t size, const std::vector<std::string>& names);
  void link(const std::string& name, const std::string& target) const;

  /// Empties the folder and writes a file from each piece, whose first line is the file's path in
  /// it. Paths that lead elsewhere, and files beyond the sixteenth, are passed over.
  void write_named(const std::uint8_t* bytes, std::size_t size);
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace hiptool::fuzz
