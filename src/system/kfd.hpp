// SPDX-License-Identifier: MIT
/// What amdgpu's compute driver (KFD) reports in /sys/class/kfd, the list that ROCm's runtimes
/// read.
#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace hiptool::system {

struct KfdGpu {
  std::string arch;          ///< "gfx90a"; empty where the kernel does not tell
  std::string render_minor;  ///< "128" of /dev/dri/renderD128; empty where the kernel reports none
};

/// Nodes below <root>/sys/class/kfd/kfd/topology/nodes, of which CPUs are one kind.
struct KfdTopology {
  std::size_t nodes = 0;
  std::size_t unreadable = 0;  ///< nodes of GPUs that a container was not given refuse to be read
  std::vector<KfdGpu> gpus;
};
KfdTopology read_kfd_topology(const std::filesystem::path& root);

/// "gfx90a" from "90010": two decimal digits each for minor and stepping, which the name has as one
/// hexadecimal digit (Linux, kfd_device.c). Empty for what is no such number.
std::string gfx_name(const std::string& gfx_target_version);

}  // namespace hiptool::system
