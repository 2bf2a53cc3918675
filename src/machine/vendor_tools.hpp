// SPDX-License-Identifier: MIT
/// Command lines of nvidia-smi and amd-smi that name the GPU of a finding.
#pragma once
#include <string>
#include <vector>

#include "hiptool/platform.hpp"

namespace hiptool::machine {

/// " -i 0000:65:00.0" for nvidia-smi, " -g 0000:c1:00.0" for amd-smi. `id` is a PCI bus id or, of
/// NVIDIA, a UUID: an index of these tools need not be the number that a runtime gives the GPU. For
/// an empty one the word GPU.
std::string selection_for_tool(Platform platform, const std::string& id);

/// The fixes of one finding on several GPUs, each once; those that differ only in the GPUs that
/// selection_for_tool() names are one, which names them all.
std::vector<std::string> joined_fixes(const std::vector<std::string>& fixes);

}  // namespace hiptool::machine
