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
#include <utility>

#include "hiptool/error.hpp"

namespace hiptool::cli {
namespace {

namespace fs = std::filesystem;

bool is_letter_or_digit(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9');
}

// What Hugging Face and Ollama allow in names.
bool is_name(std::string_view word) {
  return !word.empty() && is_letter_or_digit(word.front()) &&
         std::all_of(word.begin(), word.end(), [](char letter) {
           return is_letter_or_digit(letter) || letter == '.' || letter == '_' || letter == '-';
         });
}

bool is_model_file_name(std::string_view word) {
  constexpr std::array<std::string_view, 5> ends{".gguf", ".safetensors", ".json", ".bin", ".pt"};
  return std::any_of(ends.begin(), ends.end(),
                     [word](std::string_view end) { return word.ends_with(end); });
}

std::string quoted_for_shell(const std::string& text) {
  constexpr std::string_view plain = "/:._-~%+=@,";
  const bool is_plain = std::all_of(text.begin(), text.end(), [plain](char letter) {
    return is_letter_or_digit(letter) || plain.find(letter) != std::string_view::npos;
  });
  if (is_plain) return text;
  std::string quoted = "'";
  for (const char letter : text) {
    if (letter == '\'') {
      quoted += "'\\''";
    } else {
      quoted += letter;
    }
  }
  return quoted + "'";
}

bool remove_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// A name as "ORGANISATION/NAME:TAG", of which only NAME must be there.
struct RemoteName {
  std::string organisation;
  std::string name;
  std::string tag;
};

std::optional<RemoteName> parse_remote_name(std::string_view text) {
  RemoteName found;
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    found.organisation = text.substr(0, slash);
    text.remove_prefix(slash + 1);
    if (!is_name(found.organisation)) return std::nullopt;
  }
  const std::size_t colon = text.find(':');
  found.name = text.substr(0, colon);
  if (colon != std::string_view::npos) {
    found.tag = text.substr(colon + 1);
    if (!is_name(found.tag)) return std::nullopt;
  }
  if (!is_name(found.name)) return std::nullopt;
  return found;
}

std::string variable(const GetEnvironment& getenv, const char* name) {
  return getenv(name).value_or("");
}

// huggingface_hub: HF_HUB_CACHE, HF_HOME/hub, XDG_CACHE_HOME or ~/.cache with huggingface/hub.
fs::path hugging_face_cache(const GetEnvironment& getenv) {
  if (const auto cache = variable(getenv, "HF_HUB_CACHE"); !cache.empty()) return cache;
  if (const auto home = variable(getenv, "HF_HOME"); !home.empty()) return fs::path(home) / "hub";
  const std::string xdg = variable(getenv, "XDG_CACHE_HOME");
  const fs::path cache =
      xdg.empty() ? fs::path(variable(getenv, "HOME")) / ".cache" : fs::path(xdg);
  return cache / "huggingface" / "hub";
}

std::string hugging_face_hint(const RemoteName& name, const GetEnvironment& getenv) {
  const fs::path folder =
      hugging_face_cache(getenv) / ("models--" + name.organisation + "--" + name.name);
  std::error_code ignored;
  if (name.tag.empty() && fs::is_directory(folder, ignored)) {
    return "it is in the cache of Hugging Face: name " + folder.string();
  }
  std::string command = "hf download " + name.organisation + "/" + name.name;
  if (!name.tag.empty()) command += " --include '*" + name.tag + "*'";
  return "not a local path; `" + command +
         "` downloads the repository and prints the folder "
         "to name here";
}

std::string ollama_hint(const RemoteName& name, const GetEnvironment& getenv) {
  std::string models = variable(getenv, "OLLAMA_MODELS");
  if (models.empty()) models = (fs::path(variable(getenv, "HOME")) / ".ollama" / "models").string();
  const std::string organisation = name.organisation.empty() ? "library" : name.organisation;
  const std::string tag = name.tag.empty() ? "latest" : name.tag;
  const fs::path manifest =
      fs::path(models) / "manifests" / "registry.ollama.ai" / organisation / name.name / tag;
  std::error_code ignored;
  if (fs::exists(manifest, ignored)) return "it is a model of Ollama: name " + manifest.string();
  const std::string prefix = name.organisation.empty() ? "" : name.organisation + "/";
  const std::string pulled = prefix + name.name + (name.tag.empty() ? "" : ":" + name.tag);
  return "not a local path; after `ollama pull " + pulled + "` name " + manifest.string();
}

std::string curl_hint(const std::string& url) {
  return "hiptool reads local files only; download it with `curl -LO " + quoted_for_shell(url) +
         "`";
}

// org/name, and org/name/resolve/main/file.gguf: a page "blob" is not the file itself.
std::string hugging_face_url_hint(std::string_view path, const GetEnvironment& getenv) {
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
  const auto name = parse_remote_name(path.substr(0, end));
  if (name && !name->organisation.empty()) return hugging_face_hint(*name, getenv);
  return curl_hint("https://huggingface.co/" + std::string(path));
}

std::optional<std::string> url_hint(const std::string& path, const GetEnvironment& getenv) {
  std::string_view rest = path;
  const bool is_web = remove_prefix(rest, "https://") || remove_prefix(rest, "http://");
  remove_prefix(rest, "www.");
  if (remove_prefix(rest, "huggingface.co/") || remove_prefix(rest, "hf.co/") ||
      remove_prefix(rest, "hf://")) {
    return hugging_face_url_hint(rest, getenv);
  }
  if (remove_prefix(rest, "ollama.com/")) {
    remove_prefix(rest, "library/");
    if (const auto name = parse_remote_name(rest)) return ollama_hint(*name, getenv);
  }
  if (is_web) return curl_hint(path);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> download_hint(const std::string& path, const GetEnvironment& getenv) {
  if (auto hint = url_hint(path, getenv)) return hint;
  const auto name = parse_remote_name(path);
  if (!name || is_model_file_name(path)) return std::nullopt;
  if (name->organisation.empty()) {
    if (name->tag.empty()) return std::nullopt;  // any misspelt file name
    return ollama_hint(*name, getenv);
  }
  // A wrong name in a folder that exists is a wrong name.
  std::error_code ignored;
  if (fs::exists(name->organisation, ignored)) return std::nullopt;
  return hugging_face_hint(*name, getenv);
}

ModelFile open_model(const std::string& path, const ModelOptions& options,
                     const GetEnvironment& getenv) {
  try {
    return ModelFile::open(path, options);
  } catch (const Error& error) {
    std::error_code ignored;
    const bool is_missing = fs::symlink_status(path, ignored).type() == fs::file_type::not_found;
    if (error.code() != ErrorCode::input_failed || !is_missing) throw;
    const auto hint = download_hint(path, getenv);
    if (!hint) throw;
    throw Error(error.code(), error.operation(), error.what(), *hint);
  }
}

}  // namespace hiptool::cli
