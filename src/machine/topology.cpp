// SPDX-License-Identifier: MIT
#include "machine/topology.hpp"

#include <algorithm>
#include <sstream>
#include <system_error>

#include "base/contains.hpp"
#include "base/file.hpp"
#include "system/kfd.hpp"
#include "system/numa.hpp"
#include "system/pci.hpp"

namespace hiptool::machine {
namespace {

namespace fs = std::filesystem;

// Linux gives each XGMI link between neighbours a weight of 15 (amdkfd/kfd_crat.c).
constexpr std::uint64_t xgmi_weight = 15;

/// Bridges on the path between two devices below a common one; absent without a common bridge.
std::optional<std::uint64_t> hops_below_common(const TopologyPlace& from, const TopologyPlace& to) {
  for (std::size_t i = 1; i < from.path.hops.size(); ++i) {
    for (std::size_t j = 1; j < to.path.hops.size(); ++j) {
      if (from.path.hops[i].bus_id == to.path.hops[j].bus_id) return i + j - 1;
    }
  }
  return {};
}

void judge_pcie(const fs::path& root, const TopologyPlace& from, const TopologyPlace& to,
                TopologyPair& pair) {
  if (from.numa_node && to.numa_node) {
    pair.numa_distance = numa_distance(root, *from.numa_node, *to.numa_node);
  }
  if (from.path.hops.empty() || to.path.hops.empty()) return;
  pair.source = "/sys/bus/pci/devices";
  if (const auto hops = hops_below_common(from, to)) {
    pair.kind = LinkKind::pcie_switch;
    pair.hops = hops;
    return;
  }
  pair.hops = from.path.hops.size() - 1 + to.path.hops.size() - 1;
  if (!from.host_bridge.empty() && from.host_bridge == to.host_bridge) {
    pair.kind = LinkKind::pcie_root;
  } else if (system::numa_node_count(root) < 2 ||
             (from.numa_node && from.numa_node == to.numa_node)) {
    pair.kind = LinkKind::same_node;
  } else if (from.numa_node && to.numa_node) {
    pair.kind = LinkKind::across_nodes;
  }
}

void judge_xgmi(const std::vector<system::KfdNode>& nodes, const std::string& from,
                const std::string& to, TopologyPair& pair) {
  const auto find = [&](const std::string& bus_id) {
    return std::ranges::find_if(nodes, [&](const system::KfdNode& node) {
      return node.is_gpu && !bus_id.empty() && node.bus_id == bus_id;
    });
  };
  const auto start = find(from);
  const auto end = find(to);
  if (start == nodes.end() || end == nodes.end()) return;
  std::uint64_t count = 0;
  std::uint64_t weight = 0;
  for (const system::KfdLink& link : start->links) {
    if (link.type != system::KfdLink::xgmi || link.to_node != end->number) continue;
    ++count;
    weight = link.weight;
  }
  if (count == 0) return;
  pair.kind = LinkKind::xgmi;
  pair.count = count;
  pair.hops = weight >= xgmi_weight ? std::optional(weight / xgmi_weight) : std::nullopt;
  pair.source = "io_links of /sys/class/kfd/kfd/topology/nodes";
}

// The far ends of the links are the peer or switches that both devices are connected to.
void judge_nvlink(const TopologyDevice& from, const TopologyDevice& to, TopologyPair& pair) {
  if (!from.nvlink_remotes || !to.nvlink_remotes) return;
  const auto& remotes = *from.nvlink_remotes;
  std::uint64_t count = 0;
  for (const std::string& remote : remotes) {
    const bool is_peer = remote == to.bus_id;
    const bool is_shared = remote != from.bus_id && base::contains(*to.nvlink_remotes, remote);
    if (is_peer || is_shared) ++count;
  }
  if (count == 0) return;
  pair.kind = LinkKind::nvlink;
  pair.count = count;
  pair.hops.reset();
  pair.source = "NVML";
}

}  // namespace

std::string_view to_string(LinkKind kind) noexcept {
  switch (kind) {
    case LinkKind::nvlink: return "nvlink";
    case LinkKind::xgmi: return "xgmi";
    case LinkKind::pcie_switch: return "switch";
    case LinkKind::pcie_root: return "root";
    case LinkKind::same_node: return "node";
    case LinkKind::across_nodes: return "across-nodes";
    case LinkKind::unknown: return "unknown";
  }
  return "unknown";
}

std::string short_code(const TopologyPair& pair) {
  constexpr std::uint64_t bridges_of_one_switch = 3;  // two downstream ports, one upstream port
  switch (pair.kind) {
    case LinkKind::nvlink: return "NV" + std::to_string(pair.count.value_or(1));
    case LinkKind::xgmi: return "XGMI";
    case LinkKind::pcie_switch:
      return pair.hops.value_or(0) <= bridges_of_one_switch ? "PIX" : "PXB";
    case LinkKind::pcie_root: return "PHB";
    case LinkKind::same_node: return "NODE";
    case LinkKind::across_nodes: return "SYS";
    case LinkKind::unknown: break;
  }
  return "?";
}

TopologyPlace read_place(const fs::path& root, const std::string& id, const std::string& bus_id) {
  TopologyPlace place;
  place.id = id;
  place.bus_id = system::normalize_bus_id(bus_id);
  place.path = system::read_pci_path(root, bus_id);
  if (place.bus_id.empty()) return place;
  const fs::path folder = root / "sys/bus/pci/devices" / place.bus_id;
  if (const auto device = system::find_pci_device(root, bus_id)) {
    place.numa_node = device->numa_node;
  }
  place.cpus = base::read_small_file(folder / "local_cpulist");
  std::error_code error;
  const fs::path real = fs::canonical(folder, error);
  if (error || place.path.hops.empty()) return place;
  for (const fs::path& part : real) {
    if (part.string().rfind("pci", 0) == 0) place.host_bridge = part.string();
  }
  return place;
}

std::optional<std::uint64_t> numa_distance(const fs::path& root, int from, int to) {
  const fs::path nodes = root / "sys/devices/system/node";
  const auto online = system::parse_cpu_list(base::read_small_file(nodes / "online"));
  const auto at = std::ranges::find(online, to);
  std::istringstream distances(
      base::read_small_file(nodes / ("node" + std::to_string(from)) / "distance"));
  std::uint64_t distance = 0;
  for (auto node = online.begin(); distances >> distance && node != online.end(); ++node) {
    if (node == at) return distance;
  }
  return {};
}

std::vector<TopologyPair> read_nic_topology(const fs::path& root,
                                            const std::vector<TopologyDevice>& devices,
                                            const std::vector<system::Nic>& nics) {
  std::vector<TopologyPair> pairs;
  for (const TopologyDevice& device : devices) {
    const TopologyPlace from = read_place(root, device.id, device.bus_id);
    for (const system::Nic& nic : nics) {
      TopologyPair& pair = pairs.emplace_back();
      pair.from = device.id;
      pair.to = nic.name;
      pair.source = "not reported";
      judge_pcie(root, from, read_place(root, nic.name, nic.bus_id), pair);
    }
  }
  return pairs;
}

std::vector<TopologyPair> read_topology(const fs::path& root,
                                        const std::vector<TopologyDevice>& devices,
                                        const AskPeer& ask_peer) {
  const auto nodes = system::read_kfd_nodes(root);
  std::vector<TopologyPlace> places;
  for (const TopologyDevice& device : devices) {
    places.push_back(read_place(root, device.id, device.bus_id));
  }
  std::vector<TopologyPair> pairs;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    for (std::size_t j = 0; j < devices.size(); ++j) {
      if (i == j) continue;
      TopologyPair& pair = pairs.emplace_back();
      pair.from = devices[i].id;
      pair.to = devices[j].id;
      pair.source = "not reported";
      judge_pcie(root, places[i], places[j], pair);
      judge_xgmi(nodes, devices[i].bus_id, devices[j].bus_id, pair);
      judge_nvlink(devices[i], devices[j], pair);
      if (ask_peer && devices[i].platform == devices[j].platform) {
        pair.peer_access = ask_peer(pair.from, pair.to);
      }
    }
  }
  return pairs;
}

}  // namespace hiptool::machine
