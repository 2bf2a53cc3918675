// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>

#include "cli/console.hpp"
#include "hiptool/model_file.hpp"

namespace hiptool::cli {

/// As ModelFile::open(). If the path does not exist but is the name of a model elsewhere, the error
/// has a hint that says how to get it.
ModelFile open_model(const std::string& path, const ModelOptions& options,
                     const GetEnvironment& getenv);

/// For a URL, the id of a repository ("org/name", "org/name:Q4_K_M") or a model of Ollama's
/// ("llama3.2:1b"): the path where it already is on this machine, else the command that downloads
/// it (curl, hf or ollama). Absent for anything else.
std::optional<std::string> download_hint(const std::string& path, const GetEnvironment& getenv);

}  // namespace hiptool::cli
