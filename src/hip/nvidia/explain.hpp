// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>

#include "hip/binding.hpp"
#include "hip/nvidia/cuda.hpp"
#include "system/drivers.hpp"

namespace hiptool::hip::nvidia {

using system::DriverFinding;

/// Why there is no driver library, derived from files; `sentence` is the loader's message.
DriverFinding explain_load_failure(const std::string& library, const std::string& sentence,
                                   const std::filesystem::path& root);

/// The same for a library that no place of the search has.
DriverFinding explain_not_found(const std::string& library, const std::filesystem::path& root);

/// Why a bound driver cannot be used; `result` is that of cuInit or of counting its devices.
DriverFinding explain_init_failure(CUresult result, const std::string& library,
                                   const BindRequest& request);

/// The driver works and lists no device.
DriverFinding explain_no_device(const BindRequest& request);

}  // namespace hiptool::hip::nvidia
