// SPDX-License-Identifier: MIT
#include "hip/rtc.hpp"

#include <filesystem>
#include <vector>

#include "hip/amd/bound_runtime.hpp"

namespace hiptool::hip::amd {
namespace {

/// Before ROCm 7 the compiler may be inside the runtime. A compiler of another release brings
/// another LLVM into the process, so its number must be the runtime's or its folder, both without
/// numbers.
std::vector<std::string> list_compilers(const base::DynamicLibrary& runtime) {
  const std::string soname = "libhiprtc.so";
  const auto folder = std::filesystem::path(runtime.path()).parent_path();
  std::vector<std::string> names;
  std::string major = number_in_name(runtime.path());
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
