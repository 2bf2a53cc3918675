// SPDX-License-Identifier: MIT
#include "hip/rtc.hpp"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

#include "hip/amd/library_search.hpp"
#include "hip/amd/runtime.hpp"

namespace hiptool::hip::amd {
namespace {

/// The runtime in use; where there is none yet, the one that binding the platform would try first.
std::optional<base::DynamicLibrary> find_runtime() {
  std::vector<std::string> names;
  if (const char* chosen = std::getenv("HIPTOOL_HIP_LIBRARY"); chosen && *chosen != '\0') {
    names = {chosen};
  } else if (auto mapped = find_mapped({})) {
    return mapped;
  } else {
    names = list_candidates("/");
  }
  for (const std::string& name : names) {
    std::string sentence;
    if (auto library = base::DynamicLibrary::open(name, sentence)) return library;
  }
  return std::nullopt;
}

/// "7" from ".../libamdhip64.so.7.2.5"; empty where the name has no number.
std::string major_of(const std::string& runtime_path) {
  const std::string mark = ".so.";
  const std::size_t at = runtime_path.rfind(mark);
  if (at == std::string::npos) return {};
  const std::size_t start = at + mark.size();
  return runtime_path.substr(start, runtime_path.find('.', start) - start);
}

/// The version that the runtime reports where its file has no number, as in Python wheels.
std::string ask_major(const base::DynamicLibrary& runtime) {
  const auto get_version =
      runtime.function<decltype(Api::hipRuntimeGetVersion)>("hipRuntimeGetVersion");
  int version = 0;
  if (get_version == nullptr || get_version(&version) != hipSuccess || version <= 0) return {};
  return std::to_string(major_of_version(version));
}

/// Before ROCm 7 the compiler may be inside the runtime. A compiler of another release brings
/// another LLVM into the process, so its number must be the runtime's or its folder, both without
/// numbers.
std::vector<std::string> list_compilers(const base::DynamicLibrary& runtime) {
  const std::string soname = "libhiprtc.so";
  const auto folder = std::filesystem::path(runtime.path()).parent_path();
  std::vector<std::string> names;
  std::string major = major_of(runtime.path());
  if (major.empty()) {
    if (!folder.empty()) names.push_back((folder / soname).string());
    major = ask_major(runtime);
  }
  if (!major.empty()) {
    if (!folder.empty()) names.push_back((folder / (soname + "." + major)).string());
    names.push_back(soname + "." + major);
  }
  names.push_back(runtime.path());
  return names;
}

}  // namespace

RtcLibrary open_rtc() {
  static RtcApi api;
  const RtcNames names{"hipRTC", "hiprtc", "Code"};
  const auto runtime = find_runtime();
  if (!runtime) {
    return hip::open_rtc(names, {}, "no HIP runtime was found, so no hipRTC either", api);
  }
  return hip::open_rtc(names, list_compilers(*runtime),
                       "there is no hipRTC (libhiprtc) next to the HIP runtime " + runtime->path(),
                       api);
}

}  // namespace hiptool::hip::amd
