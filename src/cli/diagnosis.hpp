// SPDX-License-Identifier: MIT
#pragma once
#include "cli/command.hpp"
#include "machine/diagnosis.hpp"

namespace hiptool::cli {

/// With what the run has, of all devices: its program queries drivers in other processes. The
/// context must outlive them.
machine::DiagnosisOptions diagnosis_options(const Context& context);

}  // namespace hiptool::cli
