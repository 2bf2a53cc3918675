// SPDX-License-Identifier: MIT
#include "hip/rtc.hpp"

#include <filesystem>

#include "base/dynamic_library.hpp"
#include "base/text.hpp"

namespace hiptool::hip {
namespace {

/// False when a call is missing.
bool load_rtc(const base::DynamicLibrary& library, const RtcNames& names, RtcApi& api) {
  const auto load = [&](auto& function, const std::string& name) {
    using Function = std::remove_reference_t<decltype(function)>;
    function = library.function<Function>((names.prefix + name).c_str());
    return function != nullptr;
  };
  return load(api.create, "CreateProgram") && load(api.compile, "CompileProgram") &&
         load(api.get_log_size, "GetProgramLogSize") && load(api.get_log, "GetProgramLog") &&
         load(api.get_code_size, "Get" + names.result + "Size") &&
         load(api.get_code, "Get" + names.result) && load(api.destroy, "DestroyProgram") &&
         load(api.error_text, "GetErrorString");
}

/// Path and size of a library's file: hipRTC states the same version in every release.
std::string file_version(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path file = std::filesystem::canonical(path, failed);
  if (failed) return path;
  const auto size_bytes = std::filesystem::file_size(file, failed);
  return file.string() + " of " + base::plain_count_of(failed ? 0 : size_bytes, "byte");
}

}  // namespace

RtcLibrary open_rtc(const RtcNames& names, const std::vector<std::string>& files,
                    const std::string& reason, RtcApi& api) {
  for (const std::string& file : files) {
    std::string ignored;
    const auto library = base::DynamicLibrary::open(file, ignored);
    if (!library || !load_rtc(*library, names, api)) continue;
    const std::string& path = library->path();
    return {&api, names.library, path, names.library + " " + file_version(path), {}};
  }
  return {nullptr, names.library, {}, {}, reason};
}

const RtcLibrary& find_rtc(Platform platform) {
  static const RtcLibrary of_cpu{nullptr, {}, {}, {}, "the cpu platform has no run-time compiler"};
  switch (platform) {
    case Platform::amd: {
      static const RtcLibrary library = amd::open_rtc();
      return library;
    }
    case Platform::nvidia: {
      static const RtcLibrary library = nvidia::open_rtc();
      return library;
    }
    case Platform::cpu: break;
  }
  return of_cpu;
}

std::vector<std::string> rtc_options(Platform platform, const std::string& arch) {
  if (platform == Platform::amd)
    return {"--offload-arch=" + arch, "-std=c++17", "-O3", "-ffp-contract=off"};
  const bool is_real_arch = arch.starts_with("sm_");
  return {"--gpu-architecture=" + (is_real_arch ? "compute_" + arch.substr(3) : arch), "-std=c++17",
          "--fmad=false"};
}

}  // namespace hiptool::hip
