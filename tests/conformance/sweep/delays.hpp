// SPDX-License-Identifier: MIT
#pragma once
#include "sweep/subject.hpp"

namespace hiptool::sweep {

/// Runs each scenario with that many seeds while work on streams completes late, on each stream at
/// another pace; the results must be the same. Prints what is not so; true if there is nothing.
bool sweep_delays(const Subject& subject, int seeds);

}  // namespace hiptool::sweep
