// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "cli/environment.hpp"

namespace hiptool::cli {

/// Paths of the vendors' runtime libraries in the folders that the dynamic loader searches. Lists
/// folders, opens no library.
std::vector<std::string> find_runtime_libraries(const std::filesystem::path& root,
                                                const GetEnvironment& environment);

/// The text of --version.
std::string version_text(const Environment& environment);

}  // namespace hiptool::cli
