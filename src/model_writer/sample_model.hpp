// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "base/memory_file.hpp"
#include "base/temporary_folder.hpp"
#include "model_writer/model_writer.hpp"

namespace hiptool::model_writer {

/// A GGUF of random contents that lives as long as the object: in a temporary folder, or in memory
/// where no folder is writable (read-only containers) or has the space.
class SampleModel {
 public:
  /// `name` is the file's without its ending.
  SampleModel(const std::string& name, ModelWriterOptions options);

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::optional<base::TemporaryFolder> folder_;
  std::optional<base::MemoryFile> memory_;
  std::filesystem::path path_;
};

}  // namespace hiptool::model_writer
