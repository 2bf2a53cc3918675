// SPDX-License-Identifier: MIT
#include "cli/help/version_text.hpp"

#include <fmt/format.h>

#include <string_view>

#include "base/xxh3.hpp"
#include "cli/help/build_info.hpp"
#include "hip/binding.hpp"
#include "hiptool/version.hpp"
#include "kernel_store/images.hpp"

namespace hiptool::cli {
namespace {

namespace fs = std::filesystem;

std::string fmt_version() {
  return fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100);
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
  const hip::Places places{
      root, [&](const char* name) { return environment(name).value_or(std::string()); }};
  std::vector<std::string> found;
  for (const hip::InstalledRuntime& runtime : hip::list_installed_runtimes(places)) {
    std::string versions = runtime.release;
    if (!runtime.version.empty()) {
      versions += (versions.empty() ? "HIP " : ", HIP ") + runtime.version;
    }
    found.push_back(runtime.path.string() + (versions.empty() ? "" : " (" + versions + ")"));
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
  const auto targets = kernel_store::embedded_targets();
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
