// SPDX-License-Identifier: MIT
/// Models that other programs have downloaded to this machine, by the names that those use.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hiptool::model {

/// The value of an environment variable; absent if it is not set.
using EnvironmentReader = std::function<std::optional<std::string>(const char* name)>;

/// A name as "HOST/ORGANISATION/NAME:TAG", of which only NAME must be there.
struct RemoteName {
  std::string host;  ///< "hf.co", "localhost:5000"
  std::string organisation;
  std::string name;
  std::string tag;
};

/// Absent for a text that cannot be such a name.
std::optional<RemoteName> parse_remote_name(std::string_view text);

/// A model of that name on this machine.
struct LocalModel {
  std::filesystem::path path;  ///< for ModelFile::open()
  std::string program;         ///< whose it is: "Hugging Face", "Ollama"
};

/// Searched in the caches of Hugging Face, Ollama, Docker Model Runner, LM Studio, llama.cpp
/// and ModelScope; never downloaded. A tag chooses a file ("Q4_K_M") where a cache has no tags. A
/// model that two caches share is listed once. Only Ollama and Docker have names with a host that
/// is not Hugging Face, ModelScope or Ollama.
std::vector<LocalModel> find_local_models(const RemoteName& name, const EnvironmentReader& getenv);

/// The folder in which huggingface_hub keeps the repository, whether it is there or not.
std::filesystem::path hugging_face_folder(const RemoteName& name, const EnvironmentReader& getenv);

/// The folders that Ollama may keep models in, the most likely one first.
std::vector<std::filesystem::path> ollama_folders(const EnvironmentReader& getenv);

/// The manifest that `ollama pull` writes for the name into one of these folders.
std::filesystem::path ollama_manifest(const std::filesystem::path& folder, const RemoteName& name);

}  // namespace hiptool::model
