// SPDX-License-Identifier: MIT
/// Folders in which vendors' libraries may be installed, below a root and after the environment.
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace hiptool::hip {

/// The machine that is searched. Absolute paths of variables are below the root too.
struct Places {
  std::filesystem::path root = "/";
  /// The value of an environment variable, empty where it is not set.
  std::function<std::string(const char* name)> variable;

  /// True for the machine of this process, whose dynamic loader may search as well.
  bool is_own_machine() const { return root == "/"; }
};

/// The places of this process: its environment, below this root.
Places own_places(const std::filesystem::path& root = "/");

/// Folders of a variable such as LD_LIBRARY_PATH, below the root, in their order.
std::vector<std::filesystem::path> list_variable_folders(const Places& places, const char* name);

/// Folders that the dynamic loader searches by itself.
std::vector<std::filesystem::path> list_system_folders(const std::filesystem::path& root);

/// Files of the dynamic loader's cache (<root>/etc/ld.so.cache) for 64 bits whose soname starts
/// with the prefix. Empty where the cache is missing or has another format.
std::vector<std::filesystem::path> list_cached(const std::filesystem::path& root,
                                               std::string_view soname_prefix);

/// Folders of installed packages ("site-packages") of Python: those of VIRTUAL_ENV, CONDA_PREFIX
/// and the python3 on PATH, which is located but not run.
std::vector<std::filesystem::path> list_python_packages(const Places& places);

/// Adds a path unless it, or another name of the same file, is in the list.
void add_path_once(std::vector<std::filesystem::path>& paths, const std::filesystem::path& path);

/// The path without links; where that is unknown, as it is.
std::filesystem::path resolve(const std::filesystem::path& path);

}  // namespace hiptool::hip
