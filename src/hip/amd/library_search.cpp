// SPDX-License-Identifier: MIT
#include "hip/amd/library_search.hpp"

#include <link.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <string_view>
#include <utility>

#include "base/file.hpp"
#include "base/text.hpp"

namespace hiptool::hip::amd {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view unversioned_name = "libamdhip64.so";
constexpr std::string_view soname_prefix = "libamdhip64.so.";

/// Majors whose sonames the loader is asked for: beyond the releases that exist (5 to 7).
constexpr int newest_major = 20;
constexpr int oldest_major = 5;

using Version = std::vector<int>;

/// The major of "libamdhip64.so.<major>".
std::optional<int> major_of(std::string_view file_name) {
  if (!file_name.starts_with(soname_prefix)) return std::nullopt;
  return base::parse_number<int>(file_name.substr(soname_prefix.size()));
}

/// The leading numbers of "7.1.0-20" or "10.0".
Version numbers_of(std::string_view text) {
  Version numbers;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (at < end) {
    int number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc{}) break;
    numbers.push_back(number);
    if (next == end || *next != '.') break;
    at = next + 1;
  }
  return numbers;
}

std::string text_of(const Version& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : ".") + std::to_string(number);
  return text;
}

/// Comparable for all runtimes: ROCm's release, or HIP's version, which was the release's up to 7;
/// ROCm 10.0 has HIP 7.15.
Version age_of(const fs::path& library) {
  constexpr int first_minor_of_rocm10 = 15;
  if (Version release = numbers_of(rocm_release(library)); !release.empty()) return release;
  Version hip = numbers_of(version_of_file(library));
  if (hip.size() >= 2 && hip[0] == 7 && hip[1] >= first_minor_of_rocm10) {
    return {10, hip[1] - first_minor_of_rocm10};
  }
  return hip;
}

/// The numbers of the file that a runtime's name leads to: {7} or {7, 2, 53211}.
Version numbers_in_name(const fs::path& library) {
  const std::string name = resolve(library).filename().string();
  return name.starts_with(soname_prefix) ? numbers_of(name.substr(soname_prefix.size()))
                                         : Version();
}

/// The major that a runtime's name or, for an unversioned name, its file has; 0 if neither does.
int soname_major(const fs::path& library) {
  if (const auto major = major_of(library.filename().string())) return *major;
  const Version numbers = numbers_in_name(library);
  return numbers.empty() ? 0 : numbers.front();
}

/// Folders "<prefix>*" of a folder.
std::vector<fs::path> list_prefixed(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> found;
  for (const fs::path& entry : base::list_folder(folder)) {
    if (entry.filename().string().starts_with(prefix)) found.push_back(entry);
  }
  return found;
}

void add_runtimes(std::vector<fs::path>& runtimes, const fs::path& folder) {
  for (const fs::path& file : list_runtimes(folder)) add_path_once(runtimes, file);
}

std::vector<fs::path> list_chosen(const Places& places) {
  std::vector<fs::path> runtimes;
  for (const fs::path& folder : list_variable_folders(places, "LD_LIBRARY_PATH")) {
    add_runtimes(runtimes, folder);
  }
  for (const char* name : {"ROCM_PATH", "HIP_PATH", "ROCM_HOME"}) {
    for (const fs::path& folder : list_variable_folders(places, name)) {
      for (const char* lib : {"lib", "lib64"}) add_runtimes(runtimes, folder / lib);
    }
  }
  return runtimes;
}

/// Where ROCm is installed if no variable names it.
std::vector<fs::path> list_usual_folders(const Places& places) {
  std::vector<fs::path> folders;
  for (const fs::path& packages : list_python_packages(places)) {
    for (const fs::path& wheel : list_prefixed(packages, "_rocm_sdk_core")) {
      folders.push_back(wheel / "lib");
    }
    folders.push_back(packages / "torch/lib");
  }
  for (const fs::path& conda : list_variable_folders(places, "CONDA_PREFIX")) {
    folders.push_back(conda / "lib");
  }
  const fs::path opt = places.root / "opt";
  for (const char* lib : {"rocm/lib", "rocm/lib64", "rocm/hip/lib"}) folders.push_back(opt / lib);
  // "core" is a link to the newest "core-*".
  for (const fs::path& core : list_prefixed(opt / "rocm", "core")) folders.push_back(core / "lib");
  for (const fs::path& rocm : list_prefixed(opt, "rocm-")) folders.push_back(rocm / "lib");
  for (const fs::path& folder : list_system_folders(places.root)) folders.push_back(folder);
  return folders;
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
  constexpr int unnumbered = 0;
  std::vector<std::pair<int, fs::path>> found;
  for (const fs::path& entry : base::list_folder(folder)) {
    const std::string name = entry.filename().string();
    const auto major = name == unversioned_name ? std::optional(unnumbered) : major_of(name);
    if (major && (*major == unnumbered || *major >= oldest_major)) {
      found.emplace_back(*major, entry);
    }
  }
  std::ranges::sort(found, std::greater<>());
  std::vector<fs::path> files;
  for (auto& [major, path] : found) files.push_back(std::move(path));
  return files;
}

std::string rocm_release(const fs::path& library) {
  for (const fs::path& file : {library, resolve(library)}) {
    const fs::path installed = file.parent_path().parent_path();
    Version release = numbers_of(base::read_small_file(installed / ".info/version"));
    const std::string name = installed.filename().string();
    for (const std::string_view prefix : {"rocm-", "core-"}) {
      if (release.empty() && name.starts_with(prefix)) release = numbers_of(name.substr(5));
    }
    if (!release.empty()) return text_of(release);
  }
  return {};
}

std::string version_of_file(const fs::path& library) {
  const Version numbers = numbers_in_name(library);
  return numbers.size() > 1 ? text_of(numbers) : std::string();
}

std::optional<base::DynamicLibrary> find_mapped(const std::string& preferred_path) {
  if (!preferred_path.empty()) {
    if (auto preferred = base::DynamicLibrary::find_loaded(preferred_path)) return preferred;
  }
  std::vector<std::pair<int, std::string>> mapped;
  dl_iterate_phdr(add_mapped, &mapped);
  std::ranges::sort(mapped, std::greater<>());
  for (const auto& [major, path] : mapped) {
    if (auto library = base::DynamicLibrary::find_loaded(path)) return library;
  }
  return std::nullopt;
}

std::vector<fs::path> list_installed(const Places& places) {
  std::vector<fs::path> usual;
  for (const fs::path& folder : list_usual_folders(places)) {
    for (const fs::path& file : list_runtimes(folder)) usual.push_back(file);
  }
  for (const fs::path& file : list_cached(places.root, soname_prefix)) {
    const auto major = major_of(file.filename().string());
    if (major && *major >= oldest_major && base::is_there(file)) usual.push_back(file);
  }
  // Places of equal age keep their order.
  std::ranges::stable_sort(usual, [](const fs::path& left, const fs::path& right) {
    const int left_major = soname_major(left);
    const int right_major = soname_major(right);
    return left_major != right_major ? left_major > right_major : age_of(left) > age_of(right);
  });
  std::vector<fs::path> installed = list_chosen(places);
  for (const fs::path& file : usual) add_path_once(installed, file);
  return installed;
}

std::vector<std::string> list_candidates(const Places& places) {
  std::vector<std::string> candidates;
  for (const fs::path& file : list_installed(places)) candidates.push_back(file.string());
  if (!places.is_own_machine()) return candidates;
  for (int major = newest_major; major >= oldest_major; --major) {
    candidates.push_back(std::string(soname_prefix) + std::to_string(major));
  }
  candidates.emplace_back(unversioned_name);
  return candidates;
}

}  // namespace hiptool::hip::amd
