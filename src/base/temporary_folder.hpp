// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace hiptool::base {

/// Has remove_temporary_paths() remove a file or folder, as long as the object lives.
class TemporaryPath {
 public:
  explicit TemporaryPath(const std::filesystem::path& path);
  ~TemporaryPath() { keep(); }
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;

  /// It shall stay from now on.
  void keep() noexcept;

 private:
  std::size_t slot_;
};

/// A new folder with an unpredictable name, which only this user can enter: in $TMPDIR, or in /tmp
/// where that is not set or empty. Its destructor removes it with all it holds.
class TemporaryFolder {
 public:
  /// Throws Error(output_failed) that names TMPDIR where no folder can be created there.
  explicit TemporaryFolder(const std::string& name);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
  std::optional<TemporaryPath> listed_;
};

/// Removes the folders and files of all objects that exist. For a signal handler that ends the
/// process without destructors: async-signal-safe.
void remove_temporary_paths() noexcept;

}  // namespace hiptool::base
