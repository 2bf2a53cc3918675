// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>

#include "hip/api.hpp"

namespace hiptool::hip {

/// The properties that only the property struct has.
struct DeviceNames {
  std::string name;
  std::string arch;  ///< gcnArchName up to its first ':'; "sm_90" on nvidia; may be empty
};

/// Reads the struct with the R0600 layout if the table has that call, else with R0000 (chosen by
/// the call's presence, never by a version). Absent when neither call works or the result is not
/// sane (printable name, warp size 32 or 64); `error`, if given, is the result of the last call.
std::optional<DeviceNames> read_device_names(const Api& api, int ordinal,
                                             hipError_t* error = nullptr);

}  // namespace hiptool::hip
