// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "base/dynamic_library.hpp"
#include "hip/api.hpp"

namespace hiptool::hip::amd {

/// hipStreamAddCallback, which replaces hipLaunchHostFunc where a runtime lacks that.
using StreamAddCallback = hipError_t (*)(hipStream_t stream, hipStreamCallback_t callback,
                                         void* user_data, unsigned flags);

/// Fills the table with the library's symbols. Optional calls it lacks return hipErrorNotSupported;
/// required ones are named in the result, separated by commas (empty: all found).
std::string load_runtime(const base::DynamicLibrary& library, Api& api);

/// "5.2.21153" from 50221153; empty for an invalid number.
std::string format_version(int version);

/// The major version: 5 from 50221153.
constexpr int major_of_version(int version) { return version / 10000000; }

/// Which of the known interfaces a runtime has.
enum class Release {
  known,         ///< 4 to 7
  newer,         ///< 8 and above: taken as HIP 7
  like_hip6,     ///< unknown version, with the calls that came with HIP 6
  unrecognised,  ///< unknown version and no sign of the layouts in use
};

/// Judges by the version where it is one that AMD released: 4 to 7 (ROCm 10.0 has HIP 7.15). Else
/// by hipGetDevicePropertiesR0600, which names its own layout; independent implementations report
/// versions such as 1.1 and have it.
Release identify_release(int version, const base::DynamicLibrary& library);

/// Puts functions of ours before calls whose meaning differs from what the table promises, or
/// between releases (HIP's headers and sources 5.0 to 7.2). `api` was filled by load_runtime. They
/// have no context argument, so they serve the runtime that was adapted last.
void adapt_runtime(Api& api, const base::DynamicLibrary& library);

}  // namespace hiptool::hip::amd
