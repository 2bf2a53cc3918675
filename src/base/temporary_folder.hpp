// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <filesystem>
#include <string>

namespace hiptool::base {

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
  std::size_t slot_;  ///< in the list for remove_temporary_folders
};

/// Removes the folders of all objects that exist. For a signal handler that ends the process
/// without destructors: async-signal-safe.
void remove_temporary_folders() noexcept;

}  // namespace hiptool::base
