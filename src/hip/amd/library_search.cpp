// SPDX-License-Identifier: MIT
#include "hip/amd/library_search.hpp"

#include <link.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "base/file.hpp"
#include "base/text.hpp"

namespace hiptool::hip::amd {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view unversioned_name = "libamdhip64.so";
constexpr std::string_view soname_prefix = "libamdhip64.so.";

/// Majors of the runtime whose sonames are tried. ROCm went from 7 to 10, so the range reaches
/// beyond the releases that exist.
constexpr int newest_major = 20;
constexpr int oldest_major = 5;

/// The major of "libamdhip64.so.<major>"; names with more numbers are what that link points to.
std::optional<int> major_of(std::string_view file_name) {
  if (!file_name.starts_with(soname_prefix)) return std::nullopt;
  return base::parse_number<int>(file_name.substr(soname_prefix.size()));
}

/// The numbers of "rocm-6.4.3" or "core-7.11".
std::vector<int> version_of(const std::string& name) {
  std::vector<int> numbers;
  const char* at = name.data() + name.find('-') + 1;
  const char* const end = name.data() + name.size();
  while (at < end) {
    int number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc{}) break;
    numbers.push_back(number);
    at = next + (next < end ? 1 : 0);
  }
  return numbers;
}

template <class Version>
std::vector<fs::path> newest_first(std::vector<std::pair<Version, fs::path>> found) {
  std::sort(found.begin(), found.end(), std::greater<>());
  std::vector<fs::path> paths;
  paths.reserve(found.size());
  for (auto& [version, path] : found) paths.push_back(std::move(path));
  return paths;
}

/// Folders "<prefix>*" of a folder, newest version first.
std::vector<fs::path> list_versions(const fs::path& folder, std::string_view prefix) {
  std::vector<std::pair<std::vector<int>, fs::path>> found;
  for (const fs::path& entry : base::list_folder(folder)) {
    const std::string name = entry.filename().string();
    if (name.starts_with(prefix)) found.emplace_back(version_of(name), entry);
  }
  return newest_first(std::move(found));
}

std::vector<fs::path> list_environment_folders() {
  std::vector<fs::path> folders;
  for (const char* name : {"ROCM_PATH", "HIP_PATH", "ROCM_HOME"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    folders.push_back(fs::path(value) / "lib");
    folders.push_back(fs::path(value) / "lib64");
  }
  return folders;
}

void add_runtimes(std::vector<std::string>& candidates, const std::vector<fs::path>& folders) {
  for (const fs::path& folder : folders) {
    for (const fs::path& file : list_runtimes(folder)) candidates.push_back(file.string());
  }
}

/// Collects (major, path) of runtimes; 0 means a file without a number, as wheels have it.
int add_mapped(dl_phdr_info* info, std::size_t, void* found) {
  const std::string path = info->dlpi_name != nullptr ? info->dlpi_name : "";
  const std::string name = path.substr(path.rfind('/') + 1);
  const bool is_runtime = name == unversioned_name || name.starts_with(soname_prefix);
  if (!is_runtime) return 0;
  int major = 0;
  std::from_chars(name.data() + std::min(name.size(), soname_prefix.size()),
                  name.data() + name.size(), major);
  static_cast<std::vector<std::pair<int, std::string>>*>(found)->emplace_back(major, path);
  return 0;
}

}  // namespace

std::vector<fs::path> list_runtimes(const fs::path& folder) {
  std::vector<std::pair<int, fs::path>> found;
  for (const fs::path& entry : base::list_folder(folder)) {
    const auto major = major_of(entry.filename().string());
    if (major && *major >= oldest_major) found.emplace_back(*major, entry);
  }
  return newest_first(std::move(found));
}

std::vector<fs::path> list_rocm_folders(const fs::path& root) {
  const fs::path opt = root / "opt";
  std::vector<fs::path> folders{opt / "rocm/lib", opt / "rocm/lib64", opt / "rocm/hip/lib"};
  for (const fs::path& core : list_versions(opt / "rocm", "core-")) folders.push_back(core / "lib");
  for (const fs::path& rocm : list_versions(opt, "rocm-")) folders.push_back(rocm / "lib");
  return folders;
}

std::optional<base::DynamicLibrary> find_mapped(const std::string& preferred_path) {
  if (!preferred_path.empty()) {
    if (auto preferred = base::DynamicLibrary::find_loaded(preferred_path)) return preferred;
  }
  std::vector<std::pair<int, std::string>> mapped;
  dl_iterate_phdr(add_mapped, &mapped);
  std::sort(mapped.begin(), mapped.end(), std::greater<>());
  for (const auto& [major, path] : mapped) {
    if (auto library = base::DynamicLibrary::find_loaded(path)) return library;
  }
  return std::nullopt;
}

std::vector<std::string> list_candidates(const fs::path& root) {
  const std::vector<fs::path> chosen = list_environment_folders();
  const std::vector<fs::path> installed = list_rocm_folders(root);
  std::vector<std::string> candidates;
  add_runtimes(candidates, chosen);
  for (int major = newest_major; major >= oldest_major; --major) {
    candidates.push_back(std::string(soname_prefix) + std::to_string(major));
  }
  add_runtimes(candidates, installed);
  for (const auto& folders : {chosen, installed}) {
    for (const fs::path& folder : folders) {
      const fs::path file = folder / unversioned_name;
      if (base::is_there(file)) candidates.push_back(file.string());
    }
  }
  candidates.emplace_back(unversioned_name);
  return candidates;
}

}  // namespace hiptool::hip::amd
