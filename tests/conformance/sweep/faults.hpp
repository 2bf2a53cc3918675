// SPDX-License-Identifier: MIT
#pragma once
#include "sweep/subject.hpp"

namespace hiptool::sweep {

/// Runs each scenario once to count its calls and then, for each place in its code that calls the
/// table, once more with that call failing. The failure must be thrown as what it is, or, where
/// nobody could catch it, be told to the trace; nothing may leak or hang, and the scenario must
/// pass afterwards. Prints what is not so; true if there is nothing.
bool sweep_faults(const Subject& subject);

}  // namespace hiptool::sweep
