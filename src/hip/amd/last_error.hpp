// SPDX-License-Identifier: MIT
#pragma once
#include "hip/api.hpp"

namespace hiptool::hip::amd {

/// Gives a table the last error of HIP 7: the thread's last real one, which neither success nor
/// "not ready" replaces. Runtimes before 7.0 answer what the last call answered, whatever that was
/// (HIP 7.0 release notes, hipGetLastError). Each call of the table goes through a function of ours
/// from then on; they have no context argument, so they serve the table that was given last.
void keep_last_error(Api& api);

}  // namespace hiptool::hip::amd
