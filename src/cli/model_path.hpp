// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/output/console.hpp"
#include "hiptool/model_file.hpp"
#include "model/local_models.hpp"

namespace hiptool::cli {

/// The path itself if it exists; else all models that have it for a name in a cache of this machine
/// (find_local_models), else the path again.
std::vector<model::LocalModel> models_named(const std::string& path, const GetEnvironment& getenv);

/// The path of the only one of models_named(). Throws Error(invalid_argument), which lists them,
/// where there are several.
std::string find_model_path(const std::string& path, const GetEnvironment& getenv);

/// As ModelFile::open() of find_model_path(). If there is nothing, but the path is the name of a
/// model elsewhere, the error has a hint that says how to get it.
ModelFile open_model(const std::string& path, const ModelOptions& options,
                     const GetEnvironment& getenv);

/// For a URL, the id of a repository ("org/name", "org/name:Q4_K_M") or a model of Ollama's
/// ("llama3.2:1b"): the command that downloads it (curl, hf or ollama). Absent for anything else.
std::optional<std::string> download_hint(const std::string& path, const GetEnvironment& getenv);

}  // namespace hiptool::cli
