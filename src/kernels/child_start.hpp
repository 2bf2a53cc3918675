// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "kernels/child_process.hpp"

namespace hiptool::kernels {

/// Starts words[0], a path, as leader of a new process group: input from /dev/null, output to the
/// file `log`, TMPDIR as given, all other files of this process closed, signals at their defaults,
/// the limits set. It is killed when the calling thread ends first. Throws Error(device) with the
/// reason when it does not start.
pid_t start_child(const std::vector<std::string>& words, const std::string& log,
                  const std::string& temporary_folder, const ChildLimits& limits);

}  // namespace hiptool::kernels
