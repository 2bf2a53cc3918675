// SPDX-License-Identifier: MIT
/// Why a runtime that loads and starts reports no device. It returns the same error for every
/// cause, so the cause is derived from files below /sys and /dev and from the environment.
#pragma once
#include <filesystem>
#include <functional>
#include <string>

#include "system/drivers.hpp"

namespace hiptool::hip::amd {

/// Value of an environment variable, null if it is not set.
using GetVariable = std::function<const char*(const char* name)>;

/// The cause, to follow "the HIP runtime reports no device: ", and what to do. Never empty.
system::DriverFinding explain_no_device(const std::filesystem::path& root,
                                        const GetVariable& get_variable);

/// What to do where HSA_OVERRIDE_GFX_VERSION makes a GPU appear as another chip, for which the HSA
/// runtime may fail or end the process; empty if it is not set.
std::string hint_of_override(const GetVariable& get_variable);

}  // namespace hiptool::hip::amd
