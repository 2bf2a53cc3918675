// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>

#include "base/dynamic_library.hpp"
#include "hip/rtc.hpp"

namespace hiptool::hip {

/// Fills the table with the calls that begin with that prefix ("hiprtc", "nvrtc") and whose result
/// is named so ("Code", "PTX"); false when one is missing.
inline bool load_rtc(const base::DynamicLibrary& library, const std::string& prefix,
                     const std::string& result, RtcApi& api) {
  const auto load = [&](auto& function, const std::string& name) {
    function =
        library.function<std::remove_reference_t<decltype(function)>>((prefix + name).c_str());
    return function != nullptr;
  };
  return load(api.create, "CreateProgram") && load(api.compile, "CompileProgram") &&
         load(api.get_log_size, "GetProgramLogSize") && load(api.get_log, "GetProgramLog") &&
         load(api.get_code_size, "Get" + result + "Size") && load(api.get_code, "Get" + result) &&
         load(api.destroy, "DestroyProgram") && load(api.error_text, "GetErrorString");
}

/// Name and size of the file behind a library: hipRTC states the same version in every release.
inline std::string file_version(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path file = std::filesystem::canonical(path, failed);
  if (failed) return path;
  const auto size_bytes = std::filesystem::file_size(file, failed);
  return file.string() + " of " + std::to_string(failed ? 0 : size_bytes) + " bytes";
}

}  // namespace hiptool::hip
