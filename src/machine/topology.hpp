// SPDX-License-Identifier: MIT
/// Connections between devices, as reported by the kernel and the sensors.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/platform.hpp"
#include "system/nic.hpp"
#include "system/pci_path.hpp"

namespace hiptool::machine {

/// The best connection of two devices, nearest first.
enum class LinkKind {
  nvlink,
  xgmi,
  pcie_switch,   ///< below a common PCIe switch
  pcie_root,     ///< below different root ports of one host bridge
  same_node,     ///< host bridges of one NUMA node
  across_nodes,  ///< through the link between sockets
  unknown,
};

/// "nvlink", "xgmi", "switch", "root", "node", "across-nodes" or "unknown".
std::string_view to_string(LinkKind kind) noexcept;

struct TopologyDevice {
  std::string id;  ///< "nvidia:0"
  Platform platform = Platform::amd;
  std::string bus_id;  ///< empty if unknown
  /// Bus ids at the far ends of its active NVLinks: switches or peers.
  std::optional<std::vector<std::string>> nvlink_remotes;
};

/// Where a device or a network card is attached.
struct TopologyPlace {
  std::string id;           ///< "nvidia:0", "mlx5_0"
  std::string bus_id;       ///< empty if unknown
  system::PciPath path;     ///< the device first, its root port last; empty if unknown
  std::string host_bridge;  ///< "pci0000:60"; empty if unknown
  std::optional<int> numa_node;
  std::string cpus;  ///< nearest logical CPUs as the kernel writes them, "0-31,64-95"; may be empty
};

struct TopologyPair {
  std::string from;
  std::string to;
  LinkKind kind = LinkKind::unknown;
  std::optional<std::uint64_t> count;  ///< parallel NVLinks or XGMI links
  std::optional<std::uint64_t> hops;   ///< PCIe: bridges on the path; XGMI: links on the path
  std::optional<bool> peer_access;     ///< the runtime lets `from` reach the memory of `to`
  std::optional<std::uint64_t> numa_distance;  ///< between the nodes; 10 within a node
  std::string source;                          ///< of this information
};

/// The word of `nvidia-smi topo -m`: "NV18" for NVLinks and their number, "PIX" for one PCIe
/// switch, "PXB" for several, "PHB" for a common host bridge, "NODE" within a NUMA node, "SYS"
/// between nodes; also "XGMI"; "?" if unknown.
std::string short_code(const TopologyPair& pair);

/// The place of a device or card, read below `root`.
TopologyPlace read_place(const std::filesystem::path& root, const std::string& id,
                         const std::string& bus_id);

/// The distance of two NUMA nodes (10 within one), read below `root`; absent if not reported.
std::optional<std::uint64_t> numa_distance(const std::filesystem::path& root, int from, int to);

/// Returns whether the first device can access the second one's memory; absent if unknown.
using AskPeer = std::function<std::optional<bool>(const std::string& from, const std::string& to)>;

/// Every ordered pair of different devices, by the order given. Files are read below `root`.
std::vector<TopologyPair> read_topology(const std::filesystem::path& root,
                                        const std::vector<TopologyDevice>& devices,
                                        const AskPeer& ask_peer);

/// From every device to every network card, over PCIe.
std::vector<TopologyPair> read_nic_topology(const std::filesystem::path& root,
                                            const std::vector<TopologyDevice>& devices,
                                            const std::vector<system::Nic>& nics);

}  // namespace hiptool::machine
