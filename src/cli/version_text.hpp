// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "cli/environment.hpp"

namespace hiptool::cli {

/// The vendors' runtime libraries that lie where the loader would look, as paths. Looks at folders
/// only; opens nothing.
std::vector<std::string> find_runtime_libraries(const std::filesystem::path& root,
                                                const GetEnvironment& environment);

/// The text of --version.
std::string version_text(const Environment& environment);

}  // namespace hiptool::cli
