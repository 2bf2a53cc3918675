// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "base/temporary_folder.hpp"

namespace hiptool::base {

/// The file that is written where a path is a symbolic link, also to a file that does not exist
/// yet: a link is never replaced.
std::filesystem::path target_of_links(std::filesystem::path path);

/// A file that is written under a temporary name in the folder of its target and renamed when it is
/// complete; before that, the destructor removes it. An open file (/proc/PID/fd/N) is written
/// itself. Several threads may write at once.
class OutputFile {
 public:
  /// Throws Error(output_failed) if the folder is not writable, its file system has fewer than
  /// `size_bytes` free, or the target exists and is not a regular file.
  OutputFile(const std::filesystem::path& named, std::uint64_t size_bytes);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write_at(std::span<const std::byte> bytes, std::uint64_t offset);
  /// Closes the file, still under its temporary name; optional before commit().
  void finish();
  /// Renames the file to its target.
  void commit();
  /// Removes a committed file again, because another file of its set could not be committed.
  void withdraw() noexcept;

 private:
  std::filesystem::path target_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
  bool is_committed_ = false;
  std::optional<TemporaryPath> listed_;
};

}  // namespace hiptool::base
