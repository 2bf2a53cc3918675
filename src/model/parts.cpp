// SPDX-License-Identifier: MIT
#include "model/parts.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "model/unfinished.hpp"

namespace hiptool::model {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> sha256_of_name(const fs::path& path) {
  const std::string name = path.filename().string();
  if (is_sha256(name)) {
    const fs::path folder = path.parent_path();
    const bool is_blob_folder =
        folder.filename() == "blobs" ||
        (folder.filename() == "sha256" && folder.parent_path().filename() == "blobs");
    if (is_blob_folder) return name;
  }
  // Old versions of Ollama wrote a colon.
  const bool is_ollama = name.starts_with("sha256-") || name.starts_with("sha256:");
  if (is_ollama && is_sha256(std::string_view(name).substr(7))) return name.substr(7);
  return std::nullopt;
}

// What a link leads to, without following further links.
std::optional<fs::path> link_target(const fs::path& path) {
  std::error_code error;
  if (!fs::is_symlink(fs::symlink_status(path, error))) return std::nullopt;
  const fs::path target = fs::read_symlink(path, error);
  if (error) return std::nullopt;
  return (path.parent_path() / target).lexically_normal();
}

// The first link in the folder, or a few folders below it, that leads to a file of that name.
std::optional<fs::path> link_below(const fs::path& folder, const fs::path& name, int folders) {
  for (const fs::path& path : base::list_folder(folder)) {
    std::error_code error;
    if (const auto target = link_target(path)) {
      if (target->filename() == name) return path;
    } else if (folders > 0 && fs::is_directory(path, error)) {
      if (auto found = link_below(path, name, folders - 1)) return found;
    }
  }
  return std::nullopt;
}

}  // namespace

bool is_sha256(std::string_view text) {
  constexpr std::size_t sha256_digits = 64;
  return text.size() == sha256_digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

base::File open_part(const fs::path& path, Diagnostics& diagnostics, Contents& contents) {
  base::File file = base::File::open(path);
  diagnostics.move_to(path);
  contents.parts.push_back({path, file.size_bytes(), file.stamp().modified_ns,
                            file.stamp().changed_ns, published_sha256(path)});
  return file;
}

base::File open_unchanged(const ModelPart& part) {
  base::File file = base::File::open(part.path);
  check_unchanged(part, file);
  return file;
}

std::vector<base::File> open_unchanged(const ModelFile& model) {
  std::vector<base::File> files;
  for (const ModelPart& part : model.files()) files.push_back(open_unchanged(part));
  return files;
}

void check_unchanged(const ModelPart& part, const base::File& file) {
  file.check_unchanged(part.size_bytes, {part.modified_ns, part.changed_ns});
}

void check_unchanged(const ModelFile& model, const std::vector<base::File>& files) {
  for (std::size_t i = 0; i < files.size(); ++i) check_unchanged(model.files()[i], files[i]);
}

std::string name_in_model(const ModelFile& model, const ModelPart& part) {
  const fs::path name = part.path.lexically_relative(model.folder());
  return (name.empty() || *name.begin() == ".." ? part.path.filename() : name).string();
}

std::optional<std::string> published_sha256(const fs::path& path) {
  for (const fs::path& at : with_link_targets(path)) {
    if (auto digest = sha256_of_name(at)) return digest;
  }
  return std::nullopt;
}

std::optional<std::string> downloaded_sha256(const fs::path& path) {
  constexpr int most_folders = 4;  // a repository has its files in few folders below each other
  std::error_code error;
  const fs::path whole = fs::absolute(path, error).lexically_normal();
  fs::path folder = whole.parent_path();
  for (int up = 0; !error && up < most_folders; ++up, folder = folder.parent_path()) {
    fs::path beside =
        folder / ".cache" / "huggingface" / "download" / whole.lexically_relative(folder);
    beside += ".metadata";
    const std::string text = base::read_small_file(beside);
    const std::size_t begin = text.find('\n');
    if (begin == std::string::npos) continue;
    const std::string etag = text.substr(begin + 1, text.find('\n', begin + 1) - begin - 1);
    if (is_sha256(etag)) return etag;
  }
  return std::nullopt;
}

std::optional<fs::path> link_in_snapshots(const fs::path& blob) {
  constexpr int most_folders = 3;  // snapshots/REVISION/FOLDER
  const fs::path blobs = blob.parent_path();
  if (blobs.filename() != "blobs") return std::nullopt;
  return link_below(blobs.parent_path() / "snapshots", blob.filename(), most_folders);
}

std::optional<std::string> why_missing(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status)) return std::nullopt;
  if (status.type() != fs::file_type::not_found) return std::nullopt;  // opening it says why
  const auto target = link_target(path);
  if (!target) return "it is missing";
  fs::path partial = *target;
  partial += ".incomplete";
  const std::string end = fs::exists(partial, error)
                              ? ", whose download is not finished (" + partial.string() + ")"
                              : ", which is missing";
  return "it is a link to " + target->string() + end;
}

void check_present(const std::vector<fs::path>& paths, const std::string& set) {
  constexpr std::size_t most_counted = 1000;
  std::size_t missing = 0;
  std::string message;
  const fs::path* first = nullptr;
  for (const fs::path& path : paths) {
    const auto reason = why_missing(path);
    if (!reason) continue;
    if (first == nullptr) {
      first = &path;
      message = "cannot open " + path.string() + ", a file of " + set + ": " + *reason;
    }
    if (++missing == most_counted) break;
  }
  if (first == nullptr) return;
  if (missing > 1) {
    message += " (and " + base::count_of(missing - 1, "other file") + " of it" +
               (missing == most_counted ? " or more)" : ")");
  }
  std::string hint = "put all files of the set into one folder, or finish the download";
  const auto unfinished = unfinished_downloads(first->parent_path(), first->filename().string());
  if (!unfinished.empty()) {
    hint = "finish the download, of which " + unfinished.front().string() + " is a part";
  }
  throw Error(ErrorCode::input_failed, "open", message, hint);
}

std::vector<fs::path> with_link_targets(const fs::path& path) {
  constexpr std::size_t most_paths = 9;  // links may lead in a circle
  std::vector<fs::path> paths{path};
  while (paths.size() < most_paths) {
    auto target = link_target(paths.back());
    if (!target) break;
    paths.push_back(std::move(*target));
  }
  return paths;
}

}  // namespace hiptool::model
