// SPDX-License-Identifier: MIT
#include "hip/nvidia/driver_files.hpp"

#include "base/file.hpp"

namespace hiptool::hip::nvidia {

namespace fs = std::filesystem;

std::vector<fs::path> list_driver_files(const Places& places, const std::string& file_name) {
  std::vector<fs::path> files;
  const auto add = [&](const fs::path& file) {
    if (base::is_there(file)) add_path_once(files, file);
  };
  for (const fs::path& folder : list_variable_folders(places, "LD_LIBRARY_PATH")) {
    add(folder / file_name);
  }
  for (const fs::path& file : list_cached(places.root, file_name)) add(file);
  for (const fs::path& folder : list_system_folders(places.root)) add(folder / file_name);
  for (const char* folder : {"usr/lib/wsl/lib", "usr/local/nvidia/lib64", "usr/local/nvidia/lib",
                             "home/kubernetes/bin/nvidia/lib64", "run/opengl-driver/lib"}) {
    add(places.root / folder / file_name);
  }
  return files;
}

std::vector<std::string> list_names_to_open(const Places& places, const std::string& file_name) {
  std::vector<std::string> names;
  if (places.is_own_machine()) names.push_back(file_name);
  for (const fs::path& file : list_driver_files(places, file_name)) names.push_back(file.string());
  return names;
}

}  // namespace hiptool::hip::nvidia
