// SPDX-License-Identifier: MIT
/// Where the libraries of a CUDA toolkit are installed, by its packages or as Python wheels.
#include <link.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/contains.hpp"
#include "hip/nvidia/cublas.hpp"
#include "hip/places.hpp"
#include "hip/side_library.hpp"

namespace hiptool::hip::nvidia {
namespace {

namespace fs = std::filesystem;

void add_folder(std::vector<std::string>& folders, const fs::path& folder) {
  const std::string text = folder.lexically_normal().string();
  if (!base::contains(folders, text)) folders.push_back(text);
}

/// Collects the folders of mapped libraries of a toolkit.
int add_mapped_toolkit(dl_phdr_info* info, std::size_t, void* found) {
  const std::string_view path = info->dlpi_name != nullptr ? info->dlpi_name : "";
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (const std::string_view prefix : {"libnvrtc.so", "libcudart.so", "libcublas.so"}) {
    if (!name.starts_with(prefix) || path.size() == name.size()) continue;
    add_folder(*static_cast<std::vector<std::string>*>(found), fs::path(path).parent_path());
  }
  return 0;
}

/// `nvidia/cublas/lib` next to `nvidia/cuda_nvrtc/lib`.
void add_wheels(std::vector<std::string>& folders, const fs::path& packages) {
  for (const std::string& wheel : list_sibling_folders(packages.string(), "", "lib")) {
    add_folder(folders, wheel);
  }
}

}  // namespace

CudaFolders list_cuda_folders() {
  CudaFolders folders;
  std::vector<std::string> mapped;
  dl_iterate_phdr(add_mapped_toolkit, &mapped);
  for (const std::string& folder : mapped) {
    add_folder(folders.before, folder);
    const fs::path packages = fs::path(folder).parent_path().parent_path();
    if (packages.filename() == "nvidia") add_wheels(folders.before, packages);
  }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* folder = std::getenv(variable);
    if (folder != nullptr && *folder != '\0') add_folder(folders.after, fs::path(folder) / "lib64");
  }
  for (const fs::path& packages : list_python_packages(own_places())) {
    add_wheels(folders.after, packages / "nvidia");
  }
  add_folder(folders.after, "/usr/local/cuda/lib64");
  return folders;
}

}  // namespace hiptool::hip::nvidia
