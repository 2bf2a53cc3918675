// SPDX-License-Identifier: MIT
#include "cli/model_files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "model/published_hash.hpp"
#include "model/shard_name.hpp"

namespace hiptool::cli {
namespace {

namespace fs = std::filesystem;

constexpr int most_depth = 3;  // models--ORG--NAME/snapshots/REVISION/FILE of Hugging Face

bool is_name_of_model_file(const fs::path& path) {
  constexpr std::array<std::string_view, 4> ends{".gguf", ".safetensors", ".index.json", ".jinja"};
  constexpr std::array<std::string_view, 8> names{
      "config.json", "generation_config.json",  "tokenizer.json", "tokenizer_config.json",
      "vocab.json",  "special_tokens_map.json", "merges.txt",     "added_tokens.json"};
  const std::string name = path.filename().string();
  return name.starts_with("sha256-") || path.parent_path().filename() == "refs" ||
         std::find(names.begin(), names.end(), name) != names.end() || model::is_index_name(name) ||
         std::any_of(ends.begin(), ends.end(),
                     [&](std::string_view end) { return name.ends_with(end); });
}

void add_files_below(const fs::path& folder, int depth, std::set<fs::path>& found) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (is_name_of_model_file(entry->path())) found.insert(entry->path());
    if (depth > 0 && entry->is_directory(ignored)) {
      add_files_below(entry->path(), depth - 1, found);
    }
  }
}

fs::path folder_of(const fs::path& file) {
  std::error_code ignored;
  return fs::absolute(file, ignored).parent_path();
}

}  // namespace

std::vector<NamedFile> files_of_model(const std::string& path, const ModelFile* model) {
  std::set<fs::path> beside;
  std::set<fs::path> folders;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    add_files_below(path, most_depth, beside);
  } else {
    folders.insert(folder_of(path));
  }
  std::vector<NamedFile> files{{path, "the model"}};
  if (model != nullptr) {
    folders.insert(fs::absolute(model->folder(), ignored));
    for (const ModelPart& part : model->files()) {
      files.push_back({part.path, "the model"});
      folders.insert(folder_of(part.path));
      for (fs::path& list : model::lists_with(part)) beside.insert(std::move(list));
    }
  }
  for (const fs::path& folder : folders) add_files_below(folder, 0, beside);
  for (const fs::path& file : beside) files.push_back({file, "a file of the model's folder"});
  return files;
}

}  // namespace hiptool::cli
