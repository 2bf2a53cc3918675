// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "hip/places.hpp"

namespace hiptool::hip::nvidia {

/// The driver's library and the one that reports sensors. Unversioned names are left out: they may
/// be the toolkit's stubs.
inline constexpr const char* driver_name = "libcuda.so.1";
inline constexpr const char* sensors_name = "libnvidia-ml.so.1";

/// Every installed `file_name` of the driver: LD_LIBRARY_PATH, the loader's cache and folders, then
/// the folders of WSL, of Google's Kubernetes and of NixOS, which no loader searches by itself.
std::vector<std::filesystem::path> list_driver_files(const Places& places,
                                                     const std::string& file_name = driver_name);

/// Names to open, in order: the bare one, for which the loader of this machine takes a library that
/// is mapped already, then the files.
std::vector<std::string> list_names_to_open(const Places& places, const std::string& file_name);

}  // namespace hiptool::hip::nvidia
