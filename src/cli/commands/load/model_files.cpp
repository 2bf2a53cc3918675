// SPDX-License-Identifier: MIT
#include "cli/commands/load/model_files.hpp"

#include <filesystem>
#include <set>
#include <system_error>

namespace hiptool::cli {

namespace fs = std::filesystem;

std::vector<NamedFile> files_of_model(const ModelFile& model) {
  std::vector<NamedFile> files;
  std::set<fs::path> folders;
  std::error_code ignored;
  for (const ModelPart& part : model.files()) {
    files.push_back({part.path, "the model"});
    folders.insert(fs::absolute(part.path, ignored).parent_path());
  }
  for (const fs::path& folder : folders) {
    files.push_back({folder / "config.json", "the model's configuration"});
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      if (!entry.path().string().ends_with(".index.json")) continue;
      files.push_back({entry.path(), "the model's index"});
    }
  }
  return files;
}

}  // namespace hiptool::cli
