// SPDX-License-Identifier: MIT
#include "model/folder.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "model/diagnostics.hpp"
#include "model/file_kind.hpp"
#include "model/gguf.hpp"
#include "model/parts.hpp"
#include "model/shard_name.hpp"
#include "model/text.hpp"

namespace hiptool::model {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view index_end = ".safetensors.index.json";

[[noreturn]] void refuse(const fs::path& folder, const std::string& cause, std::string hint) {
  throw Error(ErrorCode::input_failed, "open", "cannot open " + folder.string() + ": " + cause,
              std::move(hint));
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() &&
         base::equals_ignoring_case(text.substr(text.size() - end.size()), end);
}

// Some of the names, for a message.
std::string listing(const std::vector<std::string>& names) {
  constexpr std::size_t most_shown = 5;
  std::string text;
  for (std::size_t index = 0; index < names.size() && index < most_shown; ++index) {
    text += (text.empty() ? "" : ", ") + in_quotes(names[index]);
  }
  if (names.size() > most_shown) {
    text += " and " + std::to_string(names.size() - most_shown) + " more";
  }
  return text;
}

// What accompanies a model, as llama.cpp's tools write it; projectors of old only by architecture.
bool is_companion(const fs::path& file) {
  try {
    Diagnostics diagnostics(file, false);
    Contents contents;
    const base::File part = open_part(file, diagnostics, contents);
    if (find_kind(part, diagnostics) != FileKind::gguf) return false;
    parse_gguf(part, true, diagnostics, contents.metadata, contents);
    const auto is = [&contents](std::string_view key, std::string_view text) {
      const auto* found = contents.metadata.value<std::string>(key);
      return found != nullptr && *found == text;
    };
    return is("general.type", "mmproj") || is("general.type", "adapter") ||
           is("general.type", "imatrix") || is("general.architecture", "clip");
  } catch (const Error&) {
    return false;  // what it is, its reader says better
  }
}

// Without those that only accompany a model.
std::vector<std::string> models_among(const fs::path& folder,
                                      const std::vector<std::string>& gguf) {
  constexpr std::size_t most_read = 32;
  if (gguf.size() > most_read) return gguf;
  std::vector<std::string> models;
  for (const std::string& name : gguf) {
    if (!is_companion(folder / name)) models.push_back(name);
  }
  return models;
}

// What a folder has, by kind and sorted by name.
struct Listing {
  std::vector<std::string> indexes;
  std::vector<std::string> safetensors;
  std::vector<std::string> gguf;  // of a set the first file's name
  std::vector<std::string> pickles;
  std::vector<std::string> folders;
};

Listing list_folder(const fs::path& folder) {
  Listing found;
  std::set<std::string> gguf;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (entry->is_directory(ignored)) {
      found.folders.push_back(name);
    } else if (ends_with(name, index_end)) {
      found.indexes.push_back(name);
    } else if (ends_with(name, ".safetensors")) {
      found.safetensors.push_back(name);
    } else if (ends_with(name, ".gguf")) {
      const auto shard = parse_shard_name(name);
      gguf.insert(shard && shard->total > 1 ? shard->of(1) : name);
    } else if (ends_with(name, ".bin") || ends_with(name, ".pt") || ends_with(name, ".pth")) {
      found.pickles.push_back(name);
    }
  }
  if (error) refuse(folder, error.message(), "check the folder's permissions with `ls -ld`");
  found.gguf.assign(gguf.begin(), gguf.end());
  for (auto* names : {&found.indexes, &found.safetensors, &found.pickles, &found.folders}) {
    std::sort(names->begin(), names->end());
  }
  return found;
}

// Sub-folders that hold model files themselves, for a hint.
std::vector<std::string> model_folders(const fs::path& folder, const Listing& listed) {
  constexpr std::size_t most_visited = 100;
  std::vector<std::string> found;
  for (std::size_t index = 0; index < listed.folders.size() && index < most_visited; ++index) {
    std::error_code error;
    fs::directory_iterator entry(folder / listed.folders[index], error);
    for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      if (!ends_with(name, ".safetensors") && !ends_with(name, ".gguf")) continue;
      found.push_back(listed.folders[index]);
      break;
    }
  }
  return found;
}

[[noreturn]] void refuse_empty(const fs::path& folder, const Listing& listed) {
  const auto unfinished = unfinished_downloads(folder);
  if (!unfinished.empty()) {
    refuse(folder,
           "the folder holds no model; a download is not finished: " + unfinished.front().string(),
           "finish the download");
  }
  const auto folders = model_folders(folder, listed);
  if (!folders.empty()) {
    refuse(folder, "the folder holds no model, but its sub-folders do: " + listing(folders),
           "name one of these folders");
  }
  if (!listed.pickles.empty()) {
    refuse(folder,
           "the folder holds no .safetensors or .gguf file, but " + listing(listed.pickles) +
               ", which is not read",
           "convert it to safetensors with `safetensors.torch.save_file`");
  }
  refuse(folder, "the folder holds no .safetensors or .gguf file",
         "name a model file or its folder");
}

// The only one of them; several are refused.
fs::path only_one(const fs::path& folder, const std::vector<std::string>& names,
                  std::string_view what) {
  if (names.size() > 1) {
    throw Error(ErrorCode::invalid_argument, "open",
                "cannot open " + folder.string() + ": the folder holds " +
                    std::to_string(names.size()) + " " + std::string(what) + ": " + listing(names),
                "name one of these files, such as " + (folder / names.front()).string());
  }
  return folder / names.front();
}

void check_no_lost_index(const fs::path& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto shard = parse_shard_name(name);
    if (!shard || shard->total < 2) continue;
    refuse(folder,
           in_quotes(name) + " is one of " + std::to_string(shard->total) +
               " files of a set, whose index " + in_quotes(shard->prefix + std::string(index_end)) +
               " is missing",
           "download the index into the same folder, or name one file to read it alone");
  }
}

fs::path snapshot_of_cache(const fs::path& folder) {
  const fs::path snapshots = folder / "snapshots";
  const std::string revision = base::read_small_file(folder / "refs" / "main");
  std::error_code error;
  if (!revision.empty()) {
    const bool is_plain =
        revision.find_first_of("/\\") == std::string::npos && revision != "." && revision != "..";
    if (!is_plain) {
      refuse(folder, "refs/main does not name a snapshot: " + in_quotes(revision),
             "name a folder below " + snapshots.string());
    }
    if (fs::is_directory(snapshots / revision, error)) return snapshots / revision;
    refuse(folder, "the snapshot " + in_quotes(revision) + " that refs/main names is missing",
           "download the model again");
  }
  std::vector<std::string> revisions;
  for (fs::directory_iterator entry(snapshots, error), end; !error && entry != end;
       entry.increment(error)) {
    revisions.push_back(entry->path().filename().string());
  }
  std::sort(revisions.begin(), revisions.end());
  if (revisions.empty()) refuse_empty(folder, {});
  if (revisions.size() > 1) {
    refuse(folder, "refs/main is missing and there are several snapshots: " + listing(revisions),
           "name one of the folders below " + snapshots.string());
  }
  return snapshots / revisions.front();
}

}  // namespace

FolderModel find_model_in_folder(const fs::path& folder) {
  std::error_code error;
  const bool is_cache = folder.filename().string().rfind("models--", 0) == 0 ||
                        (folder.filename().empty() &&
                         folder.parent_path().filename().string().rfind("models--", 0) == 0);
  if (is_cache && fs::is_directory(folder / "snapshots", error)) {
    return find_model_in_folder(snapshot_of_cache(folder));
  }
  Listing listed = list_folder(folder);
  const bool has_safetensors = !listed.indexes.empty() || !listed.safetensors.empty();
  if (has_safetensors || listed.gguf.size() > 1) {
    std::vector<std::string> models = models_among(folder, listed.gguf);
    if (has_safetensors || !models.empty()) listed.gguf = std::move(models);
  }
  if (!listed.indexes.empty()) {
    FolderModel found{only_one(folder, listed.indexes, "indexes"), std::move(listed.safetensors)};
    found.others.insert(found.others.end(), listed.gguf.begin(), listed.gguf.end());
    return found;
  }
  if (!listed.safetensors.empty()) {
    if (listed.safetensors.size() > 1) check_no_lost_index(folder, listed.safetensors);
    return {only_one(folder, listed.safetensors, ".safetensors files"), std::move(listed.gguf)};
  }
  if (!listed.gguf.empty()) return {only_one(folder, listed.gguf, "GGUF models"), {}};
  refuse_empty(folder, listed);
}

std::string passed_over_note(const FolderModel& found, const std::vector<ModelPart>& parts) {
  std::vector<std::string> others = found.others;
  std::erase_if(others, [&parts](const std::string& name) {
    return std::any_of(parts.begin(), parts.end(),
                       [&name](const ModelPart& part) { return part.path.filename() == name; });
  });
  if (others.empty()) return {};
  return "the folder holds " + std::to_string(others.size() + 1) + " models; this is " +
         in_quotes(found.file.filename().string()) + "; name " +
         (others.size() > 1 ? "one of " : "") + listing(others) + " to load it";
}

}  // namespace hiptool::model
