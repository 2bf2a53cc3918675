// SPDX-License-Identifier: MIT
#include "model/local_models.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/contains.hpp"
#include "base/file.hpp"
#include "base/input_file.hpp"
#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "model/folder.hpp"
#include "model/parts.hpp"
#include "model/shard_name.hpp"

namespace hiptool::model {
namespace {

namespace fs = std::filesystem;

using Json = nlohmann::json;

constexpr std::uint64_t most_settings_bytes = 16u << 20;

bool is_letter_or_digit(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9');
}

// What Hugging Face, Ollama and Docker allow in names.
bool is_name(std::string_view word) {
  return !word.empty() && is_letter_or_digit(word.front()) &&
         std::ranges::all_of(word, [](char letter) {
           return is_letter_or_digit(letter) || letter == '.' || letter == '_' || letter == '-';
         });
}

// A domain or "localhost", with or without a port; no folder such as "v1.0".
bool is_host(std::string_view text) {
  const std::size_t colon = text.find(':');
  const bool has_port = colon != text.npos;
  const std::string_view host = text.substr(0, colon);
  const std::string_view last = host.substr(host.rfind('.') + 1);
  const bool is_domain =
      last.size() < host.size() && last.size() > 1 &&
      std::ranges::none_of(last, [](char letter) { return letter >= '0' && letter <= '9'; });
  if (!is_name(host) || !(is_domain || host == "localhost" || has_port)) return false;
  return !has_port || base::parse_number<std::uint16_t>(text.substr(colon + 1)).has_value();
}

constexpr const char* ollama_host = "registry.ollama.ai";
constexpr std::array<std::string_view, 2> hugging_face_hosts{"hf.co", "huggingface.co"};

std::string variable(const EnvironmentReader& getenv, const char* name) {
  return getenv(name).value_or("");
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& letter : result) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return result;
}

// "Q4_K_M" of "it-Q4_K_M.gguf" and "it.Q4_K_M-00001-of-00002.gguf", not of "it-IQ4_K_M.gguf".
bool has_tag(std::string_view file, std::string_view tag) {
  const std::string name = lower(file);
  const std::string wanted = lower(tag);
  constexpr std::string_view separators = "-./";
  for (std::size_t at = name.find(wanted); at != std::string::npos;
       at = name.find(wanted, at + 1)) {
    const std::size_t end = at + wanted.size();
    const bool begins = at == 0 || separators.find(name[at - 1]) != std::string_view::npos;
    const bool ends = end == name.size() || separators.find(name[end]) != std::string_view::npos;
    if (begins && ends) return true;
  }
  return false;
}

// GGUF models of the folder and of the folders in it, of a set the first file; not projectors.
std::vector<fs::path> gguf_models(const fs::path& folder, std::string_view start,
                                  const std::string& tag) {
  std::map<std::string, fs::path> models;
  const auto add = [&](const fs::path& path) {
    const std::string name = path.lexically_relative(folder).string();
    const std::string file = path.filename().string();
    const bool is_model = lower(file).ends_with(".gguf") && name.starts_with(start) &&
                          !file.starts_with("._") && lower(file).find("mmproj") == file.npos;
    if (!is_model || (!tag.empty() && !has_tag(name, tag))) return;
    const auto shard = model::parse_shard_name(file);
    models.try_emplace(
        shard && shard->total > 1 ? (path.parent_path() / shard->of(1)).string() : path.string(),
        path);
  };
  for (const fs::path& path : base::list_folder(folder)) {
    if (!is_folder(path)) {
      add(path);
      continue;
    }
    for (const fs::path& inner : base::list_folder(path)) add(inner);
  }
  std::vector<fs::path> paths;
  for (auto& [name, path] : models) paths.push_back(std::move(path));
  return paths;
}

// null where the file is missing or no JSON.
Json read_json(const fs::path& path) {
  try {
    if (!is_file(path)) return nullptr;
    const Json json = Json::parse(base::read_input_file(path, most_settings_bytes), nullptr, false);
    return json.is_object() ? json : Json(nullptr);
  } catch (const Error&) {
    return nullptr;
  }
}

// huggingface_hub: HF_HUB_CACHE, HF_HOME/hub, XDG_CACHE_HOME or ~/.cache with huggingface/hub.
fs::path hugging_face_cache(const EnvironmentReader& getenv) {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    if (const auto cache = variable(getenv, name); !cache.empty()) return cache;
  }
  if (const auto home = variable(getenv, "HF_HOME"); !home.empty()) return fs::path(home) / "hub";
  const std::string xdg = variable(getenv, "XDG_CACHE_HOME");
  const fs::path cache =
      xdg.empty() ? fs::path(variable(getenv, "HOME")) / ".cache" : fs::path(xdg);
  return cache / "huggingface" / "hub";
}

std::string repository_folder(const RemoteName& name) {
  return "models--" + (name.organisation.empty() ? "" : name.organisation + "--") + name.name;
}

class CacheSearch {
 public:
  CacheSearch(const RemoteName& name, const EnvironmentReader& getenv)
      : name_(name), getenv_(getenv), home_(variable(getenv, "HOME")) {
    if (name.tag != "latest") file_tag_ = name.tag;
  }

  std::vector<LocalModel> run() {
    if (!is_of_registry()) search_hugging_face();
    search_ollama();
    search_docker();
    if (is_of_registry()) return std::move(found_);
    search_lm_studio();
    search_llama_cpp();
    search_model_scope();
    return std::move(found_);
  }

 private:
  bool is_of_hugging_face() const { return base::contains(hugging_face_hosts, name_.host); }
  // Whether the host is none that the caches leave out of their names.
  bool is_of_registry() const {
    return !name_.host.empty() && !is_of_hugging_face() && name_.host != ollama_host &&
           name_.host != "modelscope.cn";
  }

  void add(const fs::path& path, const char* program) {
    std::error_code ignored;
    const fs::path real = fs::weakly_canonical(path, ignored);
    if (base::contains(known_, real)) return;
    known_.push_back(real);
    found_.push_back({path, program});
  }

  // The folder, or with a tag the files in it that have the tag in their names.
  void add_folder(const fs::path& named, const fs::path& files, const char* program) {
    if (file_tag_.empty()) {
      add(named, program);
      return;
    }
    for (const fs::path& path : gguf_models(files, "", file_tag_)) add(path, program);
  }

  void search_hugging_face() {
    std::vector<fs::path> caches{hugging_face_cache(getenv_)};
    if (auto cache = variable(getenv_, "LLAMA_CACHE"); !cache.empty()) caches.emplace_back(cache);
    for (const fs::path& cache : caches) {
      const fs::path folder = cache / repository_folder(name_);
      if (!is_folder(folder / "snapshots")) continue;
      try {
        const fs::path files =
            file_tag_.empty() ? fs::path() : model::hugging_face_snapshot(folder);
        add_folder(folder, files, "Hugging Face");
      } catch (const Error&) {
        add(folder, "Hugging Face");  // opening it says what is wrong
      }
    }
  }

  void search_ollama() {
    std::vector<std::string> hosts;
    if (!is_of_hugging_face()) hosts.push_back(name_.host);
    if (name_.host.empty() || is_of_hugging_face()) {
      hosts.insert(hosts.end(), hugging_face_hosts.begin(), hugging_face_hosts.end());
    }
    RemoteName name = name_;
    for (const fs::path& folder : ollama_folders(getenv_)) {
      if (!is_folder(folder / "manifests")) continue;
      for (const std::string& host : hosts) {
        name.host = host;
        const fs::path manifest = ollama_manifest(folder, name);
        if (is_file(manifest)) add(manifest, "Ollama");
      }
    }
  }

  // Names as Docker Model Runner normalises them.
  static std::string docker_name(std::string name) {
    for (const std::string_view host :
         {"index.docker.io/", "docker.io/", "registry-1.docker.io/", "huggingface.co/", "hf.co/"}) {
      if (name.starts_with(host)) name.erase(0, host.size());
    }
    if (name.find('/') == std::string::npos) name.insert(0, "ai/");
    if (name.find(':', name.rfind('/')) == std::string::npos) name += ":latest";
    return lower(name);
  }

  // Its store has an index of tags, models.json; a model's id is the digest of its manifest.
  void search_docker() {
    constexpr const char* volume = "docker/volumes/docker-model-runner-models/_data";
    std::vector<fs::path> stores{home_ / ".docker" / "models", fs::path("/var/lib") / volume,
                                 home_ / ".local" / "share" / volume};
    if (auto path = variable(getenv_, "MODELS_PATH"); !path.empty()) {
      stores.insert(stores.begin(), path);
    }
    std::string wanted = is_of_registry() ? name_.host + "/" : "";
    if (!name_.organisation.empty()) wanted += name_.organisation + "/";
    wanted += name_.name + (name_.tag.empty() ? "" : ":" + name_.tag);
    wanted = docker_name(wanted);
    for (const fs::path& store : stores) {
      const Json index = read_json(store / "models.json");
      const auto models = index.is_object() ? index.find("models") : index.end();
      if (models == index.end() || !models->is_array()) continue;
      for (const Json& model : *models) add_docker_model(store, model, wanted);
    }
  }

  void add_docker_model(const fs::path& store, const Json& model, const std::string& wanted) {
    constexpr std::string_view start = "sha256:";
    if (!model.is_object() || !model.contains("id") || !model.contains("tags")) return;
    const Json& tags = model["tags"];
    if (!model["id"].is_string() || !tags.is_array()) return;
    const std::string id = model["id"].get<std::string>();
    if (!id.starts_with(start) || !model::is_sha256(id.substr(start.size()))) return;
    const bool has_tag = std::ranges::any_of(tags, [&wanted](const Json& tag) {
      return tag.is_string() && docker_name(tag.get<std::string>()) == wanted;
    });
    const fs::path manifest = store / "manifests" / "sha256" / id.substr(start.size());
    if (has_tag && is_file(manifest)) add(manifest, "Docker Model Runner");
  }

  void search_lm_studio() {
    if (name_.organisation.empty()) return;
    std::vector<fs::path> homes{home_ / ".lmstudio", home_ / ".cache" / "lm-studio"};
    if (auto path = base::read_small_file(home_ / ".lmstudio-home-pointer"); !path.empty()) {
      homes.emplace_back(path);
    }
    std::vector<fs::path> folders;
    for (const fs::path& home : homes) {
      folders.push_back(home / "models");
      const Json settings = read_json(home / "settings.json");
      if (!settings.is_object()) continue;
      const auto folder = settings.find("downloadsFolder");
      if (folder != settings.end() && folder->is_string()) {
        folders.emplace_back(folder->get<std::string>());
      }
    }
    for (const fs::path& folder : folders) {
      const fs::path files = folder / name_.organisation / name_.name;
      if (is_folder(files)) add_folder(files, files, "LM Studio");
    }
  }

  // Before it used the cache of Hugging Face: ORGANISATION_NAME_FILE.gguf in one folder.
  void search_llama_cpp() {
    if (name_.organisation.empty()) return;
    const std::string xdg = variable(getenv_, "XDG_CACHE_HOME");
    fs::path folder = variable(getenv_, "LLAMA_CACHE");
    if (folder.empty()) folder = (xdg.empty() ? home_ / ".cache" : fs::path(xdg)) / "llama.cpp";
    const std::string start = name_.organisation + "_" + name_.name + "_";
    for (const fs::path& path : gguf_models(folder, start, file_tag_)) add(path, "llama.cpp");
  }

  // Its library writes NAME with ___ for each point; before 2025 without the folder "models".
  void search_model_scope() {
    if (name_.organisation.empty()) return;
    std::string name;
    for (const char letter : name_.name) name += letter == '.' ? "___" : std::string(1, letter);
    fs::path cache = variable(getenv_, "MODELSCOPE_CACHE");
    if (cache.empty()) cache = home_ / ".cache" / "modelscope" / "hub";
    for (const fs::path& folder : {cache / "models", cache / "hub" / "models", cache}) {
      const fs::path files = folder / name_.organisation / name;
      if (is_folder(files)) add_folder(files, files, "ModelScope");
    }
  }

  const RemoteName& name_;
  const EnvironmentReader& getenv_;
  fs::path home_;
  std::string file_tag_;
  std::vector<LocalModel> found_;
  std::vector<fs::path> known_;
};

}  // namespace

std::optional<RemoteName> parse_remote_name(std::string_view text) {
  RemoteName found;
  if (std::ranges::count(text, '/') == 2) {
    found.host = text.substr(0, text.find('/'));
    text.remove_prefix(found.host.size() + 1);
    if (!is_host(found.host)) return std::nullopt;
  }
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

std::vector<LocalModel> find_local_models(const RemoteName& name, const EnvironmentReader& getenv) {
  return CacheSearch(name, getenv).run();
}

fs::path hugging_face_folder(const RemoteName& name, const EnvironmentReader& getenv) {
  return hugging_face_cache(getenv) / repository_folder(name);
}

// As a user's program, as the service of Ollama's installer, of distributions and of a snap.
std::vector<fs::path> ollama_folders(const EnvironmentReader& getenv) {
  std::vector<fs::path> folders;
  if (auto models = variable(getenv, "OLLAMA_MODELS"); !models.empty()) {
    folders.emplace_back(std::move(models));
  } else {
    folders.push_back(fs::path(variable(getenv, "HOME")) / ".ollama" / "models");
  }
  for (const char* models : {"/usr/share/ollama/.ollama/models", "/var/lib/ollama",
                             "/var/lib/ollama/models", "/var/snap/ollama/common/models"}) {
    folders.emplace_back(models);
  }
  return folders;
}

fs::path ollama_manifest(const fs::path& folder, const RemoteName& name) {
  return folder / "manifests" / (name.host.empty() ? ollama_host : name.host) /
         (name.organisation.empty() ? "library" : name.organisation) / name.name /
         (name.tag.empty() ? "latest" : name.tag);
}

}  // namespace hiptool::model
