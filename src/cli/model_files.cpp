// SPDX-License-Identifier: MIT
#include "cli/model_files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "model/parts.hpp"
#include "model/published_hash.hpp"
#include "model/shard_name.hpp"

namespace hiptool::cli {
namespace {

namespace fs = std::filesystem;

constexpr int most_depth = 3;  // models--ORG--NAME/snapshots/REVISION/FILE of Hugging Face

// Of weights, of what configures and describes them, and of tokenizers, as they are downloaded;
// also those that are read by other programs only.
bool is_name_of_model_file(const fs::path& path) {
  constexpr std::array<std::string_view, 9> ends{".gguf",       ".safetensors", ".index.json",
                                                 ".jinja",      ".model",       ".py",
                                                 "config.json", ".asc",         ".sig"};
  constexpr std::array<std::string_view, 15> names{
      "tokenizer.json",     "vocab.json",        "vocab.txt",
      "merges.txt",         "added_tokens.json", "params.json",
      "tekken.json",        "README.md",         "LICENSE",
      "LICENSE.txt",        "model_index.json",  "chat_template.json",
      "configuration.json", ".gitattributes",    "special_tokens_map.json"};
  const std::string name = path.filename().string();
  return name.starts_with("pytorch_model") || name.starts_with("sha256-") ||
         path.parent_path().filename() == "refs" ||
         std::find(names.begin(), names.end(), name) != names.end() || model::is_index_name(name) ||
         std::any_of(ends.begin(), ends.end(),
                     [&](std::string_view end) { return name.ends_with(end); });
}

using IsOfModel = bool (*)(const fs::path& path);

void add_files_below(const fs::path& folder, int depth, IsOfModel is_of_model,
                     std::set<fs::path>& found) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (is_of_model(entry->path())) found.insert(entry->path());
    if (depth > 0 && entry->is_directory(ignored)) {
      add_files_below(entry->path(), depth - 1, is_of_model, found);
    }
  }
}

// The store that a folder belongs to: Ollama has blobs/sha256-HEX and Docker blobs/sha256/HEX,
// which are named by files of any name below manifests/. Empty for other folders.
fs::path store_of(const fs::path& folder) {
  const auto has = [&folder](const char* name) {
    std::error_code ignored;
    return fs::is_directory(folder / name, ignored);
  };
  if (has("blobs") && has("manifests")) return folder;
  const fs::path above = folder.parent_path();
  if (folder.filename() == "blobs") return above;
  if (folder.filename() == "sha256" && above.filename() == "blobs") return above.parent_path();
  for (fs::path at = folder; at.has_relative_path(); at = at.parent_path()) {
    std::error_code ignored;
    const fs::path store = at.parent_path();
    if (at.filename() == "manifests" && fs::is_directory(store / "blobs", ignored)) return store;
  }
  return {};
}

bool is_blob(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with("sha256-") || model::is_sha256(name);
}

void add_files_of_store(const fs::path& store, std::set<fs::path>& found) {
  constexpr int depth_of_manifests = 5;  // REGISTRY/LIBRARY/NAME/TAG, some with a port in between
  const auto is_file = [](const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored);
  };
  add_files_below(store / "manifests", depth_of_manifests, is_file, found);
  add_files_below(store / "blobs", 1, is_blob, found);
  found.insert(store / "models.json");
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
    add_files_below(path, most_depth, is_name_of_model_file, beside);
    // "/." leaves a folder whose name has no slash at its end.
    folders.insert((fs::absolute(path, ignored) / ".").lexically_normal().parent_path());
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
  for (const fs::path& folder : folders) {
    add_files_below(folder, 0, is_name_of_model_file, beside);
    const fs::path store = store_of(folder);
    if (!store.empty()) add_files_of_store(store, beside);
  }
  for (const fs::path& file : beside) files.push_back({file, "a file of the model's folder"});
  return files;
}

}  // namespace hiptool::cli
