// SPDX-License-Identifier: MIT
/// What amdgpu's compute driver (KFD) reports in /sys/class/kfd, the list that ROCm's runtimes
/// read.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hiptool::system {

/// How a node of the KFD topology reaches another one. The numbers are as in the kernel
/// (drivers/gpu/drm/amd/amdkfd/kfd_crat.h, CRAT_IOLINK_TYPE_*).
struct KfdLink {
  enum Type : int { pcie = 2, xgmi = 11 };
  int type = 0;
  int to_node = -1;
  std::uint64_t weight = 0;  ///< the SLIT distance that the driver gives it
  /// XGMI links that this entry stands for; 0 if not reported, as between GPUs that are no
  /// neighbours.
  std::uint64_t parallel = 0;
};

/// A node of the KFD topology, a CPU or a GPU, with its links.
struct KfdNode {
  int number = 0;
  bool is_gpu = false;
  std::string gpu_id;          ///< the driver's number of a GPU, "51545"; empty for a CPU
  bool is_readable = true;     ///< false for a GPU that the container was not given
  std::string arch;            ///< "gfx942"; empty where not reported
  std::string bus_id;          ///< "0000:05:00.0"; empty for a CPU
  std::string render_minor;    ///< "128" of /dev/dri/renderD128; empty where not reported
  std::vector<KfdLink> links;  ///< io_links and p2p_links
};

/// Nodes below <root>/sys/class/kfd/kfd/topology/nodes by number; empty where there are none.
std::vector<KfdNode> read_kfd_nodes(const std::filesystem::path& root);

/// Bytes of the largest data cache of each level of the GPU with that bus id, by level; empty where
/// the driver does not report them. Reads a file for each of hundreds of caches.
std::map<int, std::uint64_t> kfd_data_caches(const std::filesystem::path& root,
                                             std::string_view bus_id);

/// "gfx90a" from "90010": two decimal digits each for minor and stepping, which the name has as one
/// hexadecimal digit (Linux, kfd_device.c). Empty for any other text.
std::string gfx_name(const std::string& gfx_target_version);

}  // namespace hiptool::system
