// SPDX-License-Identifier: MIT
/// Run-time compilers as a table of their own: hipRTC and NVRTC have the same calls under different
/// names. A library is loaded at its first use and stays for the process.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "hiptool/platform.hpp"

namespace hiptool::hip {

/// Results are 0 for success; a program is a handle.
struct RtcApi {
  int (*create)(void** program, const char* source, const char* name, int header_count,
                const char* const* headers, const char* const* header_names);
  int (*compile)(void* program, int option_count, const char* const* options);
  int (*get_log_size)(void* program, std::size_t* bytes);
  int (*get_log)(void* program, char* log);
  int (*get_code_size)(void* program, std::size_t* bytes);
  int (*get_code)(void* program, char* code);
  int (*destroy)(void** program);
  const char* (*error_text)(int result);
};

/// A platform's compiler, or the reason why it is missing.
struct RtcLibrary {
  const RtcApi* api = nullptr;  ///< null without a compiler
  std::string name;             ///< "hipRTC", "NVRTC"
  std::string path;
  std::string version;  ///< distinguishes two compilers; part of the key of cached results
  std::string reason;   ///< why it is missing
};

/// How a vendor names its compiler and the compiler's calls.
struct RtcNames {
  std::string library;  ///< "hipRTC", "NVRTC"
  std::string prefix;   ///< of the calls: "hiprtc", "nvrtc"
  std::string result;   ///< the word for the code in the calls' names: "Code", "PTX"
};

/// Fills `api` from the first of the files that has all the calls; if none has, the answer has the
/// reason.
RtcLibrary open_rtc(const RtcNames& names, const std::vector<std::string>& files,
                    const std::string& reason, RtcApi& api);

/// Loads the compiler at the first call, which may take some 10 ms. Never throws for a missing one.
/// hipRTC is taken from the same release as the HIP runtime that this process has mapped or would
/// find. Safe to use from several threads.
const RtcLibrary& find_rtc(Platform platform);

/// The compiler's options for an arch: "--offload-arch=gfx90a", "--gpu-architecture=compute_90".
std::vector<std::string> rtc_options(Platform platform, const std::string& arch);

/// Lowers the version that PTX code declares to the newest one that a driver supports; the driver's
/// version is CUDA's number (12020 is 12.2). Instructions stay; a driver rejects unsupported ones.
void lower_ptx_version(std::vector<std::byte>& ptx, int driver_version);

namespace amd {
RtcLibrary open_rtc();
}
namespace nvidia {
RtcLibrary open_rtc();
}

}  // namespace hiptool::hip
