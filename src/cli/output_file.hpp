// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace hiptool::cli {

/// A file that is written under a temporary name beside its target and takes the target's name when
/// it is complete; before that, the destructor removes it. Threads may write at the same time.
class OutputFile {
 public:
  /// Throws Error(output_failed) when the folder is not writable, its file system has fewer free
  /// bytes than that, or the target exists and is no regular file.
  OutputFile(const std::filesystem::path& target, std::uint64_t size_bytes);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write_at(std::span<const std::byte> bytes, std::uint64_t offset);
  /// Closes the file, still under its temporary name; optional before commit().
  void finish();
  /// Gives the file its name.
  void commit();
  /// Takes a committed file away again, because others of its set could not be committed.
  void withdraw() noexcept;

 private:
  std::filesystem::path target_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
  bool is_committed_ = false;
};

}  // namespace hiptool::cli
