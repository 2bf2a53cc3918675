// SPDX-License-Identifier: MIT
#include "cli/version_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/xxh3.hpp"
#include "cli/build_info.hpp"
#include "hiptool/version.hpp"
#include "kernels/images.hpp"

namespace hiptool::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array library_folders{"usr/lib/x86_64-linux-gnu", "usr/lib64", "usr/lib",
                                     "usr/local/nvidia/lib64", "usr/lib/wsl/lib"};

std::string fmt_version() {
  return fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100);
}

bool is_runtime_name(std::string_view name) {
  return name == "libcuda.so.1" || name.starts_with("libamdhip64.so");
}

std::vector<fs::path> folders_to_search(const fs::path& root, const GetEnvironment& environment) {
  std::vector<fs::path> folders;
  std::istringstream paths(environment("LD_LIBRARY_PATH").value_or(""));
  for (std::string path; std::getline(paths, path, ':');) {
    if (!path.empty()) folders.push_back(root / fs::path(path).relative_path());
  }
  for (const char* folder : library_folders) folders.push_back(root / folder);
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(root / "opt", ignored)) {
    const bool is_rocm = entry.path().filename().string().starts_with("rocm");
    if (is_rocm) folders.push_back(entry.path() / "lib");
  }
  return folders;
}

/// The items after a label, on as many lines as they need, each below the first.
std::string listed(std::string_view label, const std::vector<std::string>& items,
                   std::string_view between, std::size_t width) {
  constexpr std::size_t indent = 16;
  std::string text = fmt::format("{:<{}}", label, indent);
  std::size_t used = indent;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string item = items[i] + std::string(i + 1 < items.size() ? between : "");
    const std::string_view shown = std::string_view(item).substr(0, item.find_last_not_of(' ') + 1);
    if (used > indent && used + shown.size() > width) {
      text.erase(text.find_last_not_of(' ') + 1);
      text += "\n" + std::string(indent, ' ');
      used = indent;
    }
    text += item;
    used += item.size();
  }
  return text + "\n";
}

}  // namespace

std::vector<std::string> find_runtime_libraries(const fs::path& root,
                                                const GetEnvironment& environment) {
  std::set<fs::path> seen_folders;
  std::vector<std::string> found;
  std::error_code ignored;
  for (const fs::path& folder : folders_to_search(root, environment)) {
    // /opt/rocm is a link to /opt/rocm-N.
    if (!seen_folders.insert(fs::weakly_canonical(folder, ignored)).second) continue;
    const std::size_t before = found.size();
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
      if (is_runtime_name(entry.path().filename().string())) found.push_back(entry.path().string());
    }
    std::sort(found.begin() + static_cast<std::ptrdiff_t>(before), found.end());
  }
  return found;
}

std::string version_text(const Environment& environment) {
  const BuildInfo build = build_info();
  std::string text = fmt::format("hiptool {} ({})\n", version(), git_description());
  text += fmt::format("built with:     {}, {}\n", build.compiler, build.build_type);
  const std::size_t width = environment.console.width_out();
  text += listed("libraries:",
                 {fmt::format("CLI11 {}", build.cli11), "fmt " + fmt_version(),
                  fmt::format("nlohmann_json {}", build.nlohmann_json),
                  fmt::format("xxHash {} ({})", build.xxhash, to_string(base::xxh3_path())),
                  fmt::format("nettle {}", build.nettle)},
                 ", ", width);
  const auto targets = kernels::embedded_targets();
  text += listed("kernel targets:", {targets.begin(), targets.end()}, " ", width);
  const auto found = find_runtime_libraries(environment.system_root, environment.getenv);
  text += "runtimes found: " + (found.empty() ? "none" : found.front()) + "\n";
  for (std::size_t i = 1; i < found.size(); ++i) text += "                " + found[i] + "\n";
  for (const char* name : {"HIPTOOL_HIP_LIBRARY", "HIPTOOL_CUDA_LIBRARY"}) {
    const std::string path = environment.getenv(name).value_or("");
    if (!path.empty()) text += fmt::format("{}: {}\n", name, path);
  }
  return text;
}

}  // namespace hiptool::cli
