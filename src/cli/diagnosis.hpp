// SPDX-License-Identifier: MIT
#pragma once
#include "cli/command.hpp"
#include "machine/diagnosis.hpp"

namespace hiptool::cli {

/// machine::diagnose() with what the run has: its program queries drivers in other processes.
machine::Diagnosis diagnose(const DeviceSelection& selection,
                            const machine::ProbePatience& patience, Context& context);

}  // namespace hiptool::cli
