// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/dynamic_library.hpp"

namespace hiptool::hip::amd {

/// The runtime's files in one folder, newest major first; without the unversioned name.
std::vector<std::filesystem::path> list_runtimes(const std::filesystem::path& folder);

/// Folders below <root>/opt that ROCm installs into, best first: the links /opt/rocm/lib, lib64 and
/// hip/lib, then versioned folders by version, newest first.
std::vector<std::filesystem::path> list_rocm_folders(const std::filesystem::path& root);

/// The runtime that is mapped into this process, of any major and folder: the one of the preferred
/// path if that is mapped, else the newest.
std::optional<base::DynamicLibrary> find_mapped(const std::string& preferred_path);

/// Libraries to try, in order, if none is mapped already: folders of ROCM_PATH, HIP_PATH and
/// ROCM_HOME; bare sonames, so that the system's linker decides; <root>/opt; the unversioned name.
std::vector<std::string> list_candidates(const std::filesystem::path& root);

}  // namespace hiptool::hip::amd
