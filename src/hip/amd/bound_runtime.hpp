// SPDX-License-Identifier: MIT
/// The HIP runtime that belongs to this process, as the libraries next to it see it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/dynamic_library.hpp"
#include "hip/api.hpp"

namespace hiptool::hip::amd {

/// Path of the runtime that the amd platform was bound to; where none was usable so far, of the one
/// that its status names. Empty before there was one.
std::string preferred_runtime();

/// The runtime in use; where there is none yet, the one that binding the platform would try first.
std::optional<base::DynamicLibrary> find_runtime();

/// "7" from ".../libamdhip64.so.7.2.5"; empty where the name has no number.
std::string number_in_name(const std::string& runtime_path);

/// The version that the runtime reports where its file has no number, as in Python wheels.
std::string ask_major(const base::DynamicLibrary& runtime);

/// The major by name, else as reported; 0 if neither is known.
int runtime_major(const base::DynamicLibrary& runtime);

/// Folders where the libraries of the runtime's release are: its own, and in Python wheels those of
/// the packages `_rocm_sdk_libraries*` next to its package.
std::vector<std::string> list_library_folders(const base::DynamicLibrary& runtime);

/// Whether AMD's libraries can be started: hipBLASLt ends the process where there is no device, and
/// the others name it an internal or unknown error.
class StartCheck {
 public:
  explicit StartCheck(const base::DynamicLibrary& runtime);

  /// 0, or blas_no_device.
  int operator()() const;

 private:
  decltype(Api::hipGetDeviceCount) count_;
};

/// Empty if `library` calls this runtime; else why it cannot be used: it has brought in another.
std::string refuse_second_runtime(const base::DynamicLibrary& library,
                                  const base::DynamicLibrary& runtime);

/// Targets ("gfx90a") named by files TensileLibrary_*gfx* in `<folder of the
/// library>/<name>/library`, in Debian `<name>/<number>/library`, or, if set, the folder of
/// `variable`. Sorted; empty if there is no such folder.
std::vector<std::string> list_targets(const std::string& library_path, const std::string& name,
                                      const char* variable);

}  // namespace hiptool::hip::amd
