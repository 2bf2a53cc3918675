// SPDX-License-Identifier: MIT
#include "hip/amd/bound_runtime.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/file.hpp"
#include "base/text.hpp"
#include "hip/amd/library_search.hpp"
#include "hip/amd/runtime.hpp"
#include "hip/blas.hpp"
#include "hip/side_library.hpp"

namespace hiptool::hip::amd {
namespace {

namespace fs = std::filesystem;

/// Every runtime has this call; its address distinguishes two copies.
constexpr const char* probe_symbol = "hipRuntimeGetVersion";

/// Adds each "gfx..." of a file name: "TensileLibrary_Type_HH_Contraction_gfx90a.co".
void add_targets(const std::string& name, std::set<std::string>& targets) {
  constexpr std::string_view digits = "0123456789abcdef";
  for (std::size_t at = name.find("gfx"); at != std::string::npos; at = name.find("gfx", at + 3)) {
    const std::size_t end = std::min(name.find_first_not_of(digits, at + 3), name.size());
    if (end - at > 5) targets.insert(name.substr(at, end - at));
  }
}

}  // namespace

std::optional<base::DynamicLibrary> find_runtime() {
  std::vector<std::string> names;
  if (const char* chosen = std::getenv("HIPTOOL_HIP_LIBRARY"); chosen && *chosen != '\0') {
    names = {chosen};
  } else if (auto mapped = find_mapped(preferred_runtime())) {
    return mapped;
  } else {
    names = list_candidates(own_places());
  }
  for (const std::string& name : names) {
    std::string sentence;
    if (auto library = base::DynamicLibrary::open(name, sentence)) return library;
  }
  return std::nullopt;
}

std::string number_in_name(const std::string& runtime_path) {
  const std::string mark = ".so.";
  const std::size_t at = runtime_path.rfind(mark);
  if (at == std::string::npos) return {};
  const std::size_t start = at + mark.size();
  return runtime_path.substr(start, runtime_path.find('.', start) - start);
}

std::string ask_major(const base::DynamicLibrary& runtime) {
  const auto get_version = runtime.function<decltype(Api::hipRuntimeGetVersion)>(probe_symbol);
  int version = 0;
  if (get_version == nullptr || get_version(&version) != hipSuccess || version <= 0) return {};
  return std::to_string(major_of_version(version));
}

int runtime_major(const base::DynamicLibrary& runtime) {
  const auto named = base::parse_number<int>(number_in_name(runtime.path()));
  if (named && *named > 0) return *named;
  return base::parse_number<int>(ask_major(runtime)).value_or(0);
}

std::vector<std::string> list_library_folders(const base::DynamicLibrary& runtime) {
  const fs::path folder = fs::path(runtime.path()).parent_path();
  if (folder.empty()) return {};
  std::vector<std::string> folders{folder.string()};
  const std::string packages = (folder / "../..").lexically_normal().string();
  for (std::string& wheel : list_sibling_folders(packages, "_rocm_sdk_libraries", "lib")) {
    folders.push_back(std::move(wheel));
  }
  return folders;
}

StartCheck::StartCheck(const base::DynamicLibrary& runtime)
    : count_(runtime.function<decltype(Api::hipGetDeviceCount)>("hipGetDeviceCount")) {}

int StartCheck::operator()() const {
  int count = 0;
  if (count_ == nullptr) return 0;
  return count_(&count) == hipSuccess && count > 0 ? 0 : blas_no_device;
}

std::string refuse_second_runtime(const base::DynamicLibrary& library,
                                  const base::DynamicLibrary& runtime) {
  // A symbol is searched in a library and all that it depends on.
  const void* theirs = library.symbol(probe_symbol);
  if (theirs == nullptr || theirs == runtime.symbol(probe_symbol)) return {};
  return "brought a second HIP runtime into the process alongside " + runtime.path();
}

std::vector<std::string> list_targets(const std::string& library_path, const std::string& name,
                                      const char* variable) {
  const char* chosen = std::getenv(variable);
  std::error_code failed;
  const fs::path real = fs::canonical(library_path, failed);
  std::set<std::string> targets;
  std::vector<fs::path> folders{fs::path(library_path).parent_path() / name / "library",
                                real.parent_path() / name / "library"};
  // Debian keeps the releases apart: rocblas/5/library.
  for (std::string& numbered :
       list_sibling_folders((real.parent_path() / name).string(), "", "library")) {
    folders.emplace_back(std::move(numbered));
  }
  if (chosen != nullptr && *chosen != '\0') folders = {chosen};
  for (const fs::path& folder : folders) {
    for (const fs::path& entry : base::list_folder(folder)) {
      const std::string file = entry.filename().string();
      // Later releases have a folder for each target.
      if (file.starts_with("TensileLibrary_") || file.starts_with("gfx")) {
        add_targets(file, targets);
      }
    }
    if (!targets.empty()) break;
  }
  return {targets.begin(), targets.end()};
}

}  // namespace hiptool::hip::amd
