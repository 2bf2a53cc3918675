// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>

#include "base/descriptor.hpp"

namespace hiptool::base {

/// An empty file in memory, in no folder, which ends with the object (memfd_create).
class MemoryFile {
 public:
  /// Throws Error(output_failed).
  explicit MemoryFile(const std::string& name);

  /// /proc/PID/fd/N, by which this process and its children open it.
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  Descriptor descriptor_;
  std::filesystem::path path_;
};

/// Whether that is the path of an open file, as path() is, which cannot be renamed to.
bool is_open_file(const std::filesystem::path& path);

}  // namespace hiptool::base
