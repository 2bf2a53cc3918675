// SPDX-License-Identifier: MIT
/// How devices reach each other, from what the kernel and the sensors tell.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/platform.hpp"

namespace hiptool::measure {

/// The best of the ways between two devices, nearest first.
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
  std::string bus_id;  ///< empty where not known
  /// Bus ids at the far ends of its NVLinks that work; of a switch, or of the peer itself.
  std::optional<std::vector<std::string>> nvlink_remotes;
};

struct TopologyPair {
  std::string from;
  std::string to;
  LinkKind kind = LinkKind::unknown;
  std::optional<std::uint64_t> count;  ///< parallel NVLinks or XGMI links
  std::optional<std::uint64_t> hops;  ///< PCIe: bridges on the way; XGMI: links one after the other
  std::optional<bool> peer_access;    ///< the runtime lets `from` reach the memory of `to`
  std::optional<std::uint64_t> numa_distance;  ///< of the nodes; 10 is one and the same
  std::string source;                          ///< what said so
};

/// Answers whether the first device can reach the second one's memory; absent where not known.
using AskPeer = std::function<std::optional<bool>(const std::string& from, const std::string& to)>;

/// Every ordered pair of different devices, by the order given. Files are read below `root`.
std::vector<TopologyPair> read_topology(const std::filesystem::path& root,
                                        const std::vector<TopologyDevice>& devices,
                                        const AskPeer& ask_peer);

}  // namespace hiptool::measure
