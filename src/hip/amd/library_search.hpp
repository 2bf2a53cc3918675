// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/dynamic_library.hpp"
#include "hip/places.hpp"

namespace hiptool::hip::amd {

/// The runtime's files in one folder, newest major first, the unversioned name last. Names with
/// more numbers are left out: they are what the others point to.
std::vector<std::filesystem::path> list_runtimes(const std::filesystem::path& folder);

/// ROCm's release that a library belongs to, "10.0.0": <folder>/../.info/version, or the number of
/// the folder ("rocm-7.1.0", "core-10.0"); empty for a distribution's own package.
std::string rocm_release(const std::filesystem::path& library);

/// HIP's version as the name of the library's file has it, "7.2.53211"; empty without one.
std::string version_of_file(const std::filesystem::path& library);

/// The runtime that is mapped into this process, of any major and folder: the one of the preferred
/// path if that is mapped, else the newest.
std::optional<base::DynamicLibrary> find_mapped(const std::string& preferred_path);

/// Installed runtimes, each file once, in the order in which they are tried: folders of
/// LD_LIBRARY_PATH, then of ROCM_PATH, HIP_PATH and ROCM_HOME; then, newest first, those of all
/// other places: Python's packages, CONDA_PREFIX, <root>/opt, the loader's cache and folders.
std::vector<std::filesystem::path> list_installed(const Places& places);

/// Names to open if no runtime is mapped already: installed files, then bare sonames, so that the
/// loader of this machine finds what is left.
std::vector<std::string> list_candidates(const Places& places);

}  // namespace hiptool::hip::amd
