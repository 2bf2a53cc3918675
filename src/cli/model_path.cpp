// SPDX-License-Identifier: MIT
#include "cli/model_path.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "model/folder.hpp"
#include "model/local_models.hpp"

namespace hiptool::cli {
namespace {

namespace fs = std::filesystem;

bool is_model_file_name(std::string_view word) {
  constexpr std::array<std::string_view, 5> ends{".gguf", ".safetensors", ".json", ".bin", ".pt"};
  return std::any_of(ends.begin(), ends.end(),
                     [word](std::string_view end) { return word.ends_with(end); });
}

bool remove_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::string hugging_face_hint(const model::RemoteName& name) {
  std::string command = "hf download " + name.organisation + "/" + name.name;
  if (!name.tag.empty()) command += " --include '*" + name.tag + "*'";
  return "not a local path, and in no cache of this machine; `" + command +
         "` downloads the repository and prints the folder to name here";
}

// Ollama's service keeps its models where other users may not look.
std::optional<fs::path> forbidden_folder(const GetEnvironment& getenv) {
  for (const fs::path& folder : model::ollama_folders(getenv)) {
    std::error_code error;
    static_cast<void>(fs::status(folder / "manifests", error));
    if (error == std::errc::permission_denied) return folder;
  }
  return std::nullopt;
}

std::string ollama_hint(const model::RemoteName& name, const GetEnvironment& getenv) {
  if (const auto folder = forbidden_folder(getenv)) {
    return "not a local path; Ollama's folder " + folder->string() +
           " may not be read by this user: use `sudo`, or join the group of the folder";
  }
  std::string prefix = name.host.empty() ? "" : name.host + "/";
  if (!name.organisation.empty()) prefix += name.organisation + "/";
  const std::string pulled = prefix + name.name + (name.tag.empty() ? "" : ":" + name.tag);
  return "not a local path, and in no cache of this machine; after `ollama pull " + pulled +
         "` name it again, or " +
         ollama_manifest(model::ollama_folders(getenv).front(), name).string();
}

std::string curl_hint(const std::string& url) {
  return "hiptool reads local files only; download it with `curl -LO " +
         base::quoted_for_shell(url) + "`";
}

// org/name, and org/name/resolve/main/file.gguf: a page "blob" is not the file itself.
std::string hugging_face_url_hint(std::string_view path) {
  path = path.substr(0, path.find_first_of("?#"));
  while (path.ends_with('/')) path.remove_suffix(1);
  const std::size_t organisation = path.find('/');
  const std::size_t end =
      organisation == std::string_view::npos ? organisation : path.find('/', organisation + 1);
  if (end != std::string_view::npos) {
    std::string rest(path.substr(end));
    if (rest.starts_with("/blob/")) rest.replace(0, 6, "/resolve/");
    if (rest.starts_with("/resolve/")) {
      return curl_hint("https://huggingface.co/" + std::string(path.substr(0, end)) + rest);
    }
  }
  const auto name = model::parse_remote_name(path.substr(0, end));
  if (name && !name->organisation.empty()) return hugging_face_hint(*name);
  return curl_hint("https://huggingface.co/" + std::string(path));
}

// A model as programs and web pages name it, with the file in it that a page shows.
struct NamedModel {
  model::RemoteName name;
  std::string revision;
  std::string file;
};

// A page of a model is named by its model: org/name, org/name/tree/main, org/name/blob/main/file.
std::optional<NamedModel> name_in_caches(std::string_view path) {
  const bool is_web = remove_prefix(path, "https://") || remove_prefix(path, "http://");
  remove_prefix(path, "www.");
  if (is_web) path = path.substr(0, path.find_first_of("?#"));
  struct Site {
    std::string_view start;
    const char* host;
  };
  constexpr std::array sites{Site{"huggingface.co/", "hf.co"},
                             Site{"hf.co/", "hf.co"},
                             Site{"hf://", "hf.co"},
                             Site{"modelscope.cn/models/", "modelscope.cn"},
                             Site{"ollama.com/library/", "registry.ollama.ai"},
                             Site{"ollama.com/", "registry.ollama.ai"}};
  const auto* site = std::find_if(sites.begin(), sites.end(), [&path](const Site& each) {
    return remove_prefix(path, each.start);
  });
  NamedModel found;
  for (const std::string_view page : {"/tree/", "/blob/", "/resolve/"}) {
    const std::size_t at = path.find(page);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = path.substr(at + page.size());
    const std::size_t slash = rest.find('/');
    found.revision = rest.substr(0, slash);
    if (slash != std::string_view::npos) found.file = rest.substr(slash + 1);
    path = path.substr(0, at);
    break;
  }
  if (is_web && path.ends_with('/')) path.remove_suffix(1);
  const auto name = model::parse_remote_name(path);
  if (!name || is_model_file_name(path)) return std::nullopt;
  found.name = *name;
  if (site != sites.end()) found.name.host = site->host;
  return found;
}

// The file or folder of a repository at a revision in the cache of Hugging Face.
std::optional<fs::path> path_in_snapshot(const NamedModel& named, const GetEnvironment& getenv) {
  if (named.revision == "." || named.revision == "..") return std::nullopt;
  const fs::path folder = model::hugging_face_folder(named.name, getenv);
  fs::path snapshot = folder / "snapshots" / named.revision;
  std::error_code ignored;
  if (!fs::is_directory(snapshot, ignored)) {
    if (named.revision != "main") return std::nullopt;
    try {
      snapshot = model::hugging_face_snapshot(folder);
    } catch (const Error&) {
      return std::nullopt;
    }
  }
  const fs::path path = named.file.empty() ? snapshot : snapshot / named.file;
  const bool is_below = named.file.find("..") == std::string::npos;
  return is_below && fs::exists(path, ignored) ? std::optional(path) : std::nullopt;
}

std::optional<std::string> url_hint(const std::string& path, const GetEnvironment& getenv) {
  std::string_view rest = path;
  const bool is_web = remove_prefix(rest, "https://") || remove_prefix(rest, "http://");
  remove_prefix(rest, "www.");
  if (remove_prefix(rest, "huggingface.co/") || remove_prefix(rest, "hf.co/") ||
      remove_prefix(rest, "hf://")) {
    return hugging_face_url_hint(rest);
  }
  if (remove_prefix(rest, "modelscope.cn/models/")) {
    const auto end = rest.find('/', rest.find('/') + 1);
    return "not in ModelScope's cache of this machine; `modelscope download --model " +
           std::string(rest.substr(0, end)) + "` downloads it and prints the folder to name here";
  }
  if (remove_prefix(rest, "ollama.com/")) {
    remove_prefix(rest, "library/");
    if (const auto name = model::parse_remote_name(rest)) return ollama_hint(*name, getenv);
  }
  if (is_web) return curl_hint(path);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> download_hint(const std::string& path, const GetEnvironment& getenv) {
  if (auto hint = url_hint(path, getenv)) return hint;
  const auto name = model::parse_remote_name(path);
  if (!name || is_model_file_name(path)) return std::nullopt;
  if (name->organisation.empty()) {
    if (name->tag.empty()) return std::nullopt;  // any misspelt file name
    return ollama_hint(*name, getenv);
  }
  // A wrong name in a folder that exists is a wrong name.
  std::error_code ignored;
  const bool has_host = !name->host.empty();
  if (fs::exists(has_host ? name->host : name->organisation, ignored)) return std::nullopt;
  return has_host ? ollama_hint(*name, getenv) : hugging_face_hint(*name);
}

std::vector<model::LocalModel> models_named(const std::string& path, const GetEnvironment& getenv) {
  std::error_code ignored;
  if (fs::symlink_status(path, ignored).type() != fs::file_type::not_found) return {{path, ""}};
  const auto named = name_in_caches(path);
  if (!named) return {{path, ""}};
  if (!named->revision.empty()) return {{path_in_snapshot(*named, getenv).value_or(path), ""}};
  std::vector<model::LocalModel> found = model::find_local_models(named->name, getenv);
  if (found.empty()) return {{path, ""}};
  return found;
}

std::string find_model_path(const std::string& path, const GetEnvironment& getenv) {
  const std::vector<model::LocalModel> found = models_named(path, getenv);
  if (found.size() == 1) return found.front().path.string();
  std::string places;
  for (const model::LocalModel& local : found) {
    places += (places.empty() ? "" : ", ") + local.path.string() + " (" + local.program + ")";
  }
  throw Error(ErrorCode::invalid_argument, "open",
              "'" + path + "' is the name of " + std::to_string(found.size()) +
                  " models of this machine: " + places,
              "name one of these paths");
}

ModelFile open_model(const std::string& path, const ModelOptions& options,
                     const GetEnvironment& getenv) {
  const std::string found = find_model_path(path, getenv);
  try {
    return ModelFile::open(found, options);
  } catch (const Error& error) {
    std::error_code ignored;
    const bool is_missing = fs::symlink_status(found, ignored).type() == fs::file_type::not_found;
    if (error.code() != ErrorCode::input_failed || !is_missing) throw;
    const auto hint = download_hint(path, getenv);
    if (!hint) throw;
    throw Error(error.code(), error.operation(), error.what(), *hint);
  }
}

}  // namespace hiptool::cli
