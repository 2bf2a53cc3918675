// SPDX-License-Identifier: MIT
#include "cli/commands/devices/topology.hpp"

#include <algorithm>

#include "cli/commands/devices/devices_report.hpp"
#include "hiptool/device.hpp"
#include "hiptool/error.hpp"

namespace hiptool::cli {
namespace {

using measure::DeviceFacts;
using measure::Inventory;
using report::Unit;

const measure::TopologyPair* find_pair(const TopologyFindings& topology, const std::string& from,
                                       const std::string& to) {
  for (const measure::TopologyPair& pair : topology.pairs) {
    if (pair.from == from && pair.to == to) return &pair;
  }
  return nullptr;
}

std::string cell_text(const measure::TopologyPair* pair) {
  if (pair == nullptr) return "self";
  std::string text(to_string(pair->kind));
  if (pair->count) text += " x" + std::to_string(*pair->count);
  if (pair->peer_access && !*pair->peer_access) text += ", no peer access";
  return text;
}

// For the colours of a matrix: 1 is the shortest way.
double closeness(measure::LinkKind kind) {
  switch (kind) {
    case measure::LinkKind::nvlink:
    case measure::LinkKind::xgmi: return 1;
    case measure::LinkKind::pcie_switch: return 0.7;
    case measure::LinkKind::pcie_root: return 0.45;
    case measure::LinkKind::same_node: return 0.3;
    case measure::LinkKind::across_nodes: return 0.15;
    case measure::LinkKind::unknown: break;
  }
  return 0;
}

}  // namespace

TopologyFindings find_topology(const Inventory& inventory, const std::filesystem::path& root,
                               const measure::AskPeer& ask_peer) {
  TopologyFindings topology;
  std::vector<measure::TopologyDevice> devices;
  for (const DeviceFacts& facts : inventory.devices) {
    if (!is_gpu(facts.platform)) continue;
    measure::TopologyDevice& device = devices.emplace_back();
    device.id = facts.id;
    device.platform = facts.platform;
    device.bus_id = system::normalize_bus_id(facts.info.pci_bus_id.value_or(""));
    topology.ids.push_back(facts.id);
    if (facts.sensors) device.nvlink_remotes = facts.sensors->link_remotes;
  }
  topology.pairs = measure::read_topology(root, devices, ask_peer);
  return topology;
}

measure::AskPeer peers_of(Platforms& platforms) {
  return [&platforms](const std::string& from, const std::string& to) -> std::optional<bool> {
    try {
      return can_access_peer(find_device(platforms, from), find_device(platforms, to));
    } catch (const Error&) {
      return {};
    }
  };
}

report::Object topology_value(const TopologyFindings& topology) {
  report::Array ids;
  report::Array rows;
  for (const std::string& from : topology.ids) {
    ids.push_back(from);
    report::Array row;
    for (const std::string& to : topology.ids) {
      const measure::TopologyPair* pair = find_pair(topology, from, to);
      row.push_back(pair == nullptr ? "self" : to_string(pair->kind));
    }
    rows.push_back(std::move(row));
  }
  report::Array links;
  for (const measure::TopologyPair& pair : topology.pairs) {
    links.push_back(report::Object{{"from", pair.from},
                                   {"to", pair.to},
                                   {"kind", to_string(pair.kind)},
                                   {"count", pair.count},
                                   {"hops", pair.hops},
                                   {"peer_access", pair.peer_access},
                                   {"numa_distance", pair.numa_distance},
                                   {"source", pair.source}});
  }
  return {{"devices", std::move(ids)}, {"kinds", std::move(rows)}, {"links", std::move(links)}};
}

report::Table topology_matrix(const TopologyFindings& topology) {
  report::Table table;
  table.title = "Links between devices";
  table.columns.push_back({"from", "From", Unit::none});
  for (const std::string& id : topology.ids) table.columns.push_back({id, id, Unit::none});
  for (const std::string& from : topology.ids) {
    std::vector<report::Value> row{from};
    std::vector<double> heat{0};
    for (const std::string& to : topology.ids) {
      const measure::TopologyPair* pair = find_pair(topology, from, to);
      row.emplace_back(cell_text(pair));
      heat.push_back(pair != nullptr ? closeness(pair->kind) : 0);
    }
    table.rows.push_back(std::move(row));
    table.heat.push_back(std::move(heat));
  }
  return table;
}

report::Table topology_pairs(const TopologyFindings& topology) {
  report::Table table;
  table.columns = {{"from", "From", Unit::none},
                   {"to", "To", Unit::none},
                   {"kind", "Link", Unit::none},
                   {"count", "Links", Unit::count},
                   {"hops", "Hops", Unit::count},
                   {"peer_access", "Peer access", Unit::none},
                   {"numa_distance", "NUMA distance", Unit::count}};
  for (const measure::TopologyPair& pair : topology.pairs) {
    table.rows.push_back({pair.from, pair.to, to_string(pair.kind), pair.count, pair.hops,
                          pair.peer_access, pair.numa_distance});
  }
  return table;
}

std::vector<report::Line> topology_notes(const TopologyFindings& topology) {
  if (topology.ids.size() < 2) {
    return {{report::Tone::plain, "links between devices: fewer than two GPUs are usable"}};
  }
  return {{report::Tone::plain,
           "links: switch below one PCIe switch, root below one host bridge, node within one NUMA "
           "node, across-nodes through the link between sockets; x2 two links side by side"}};
}

}  // namespace hiptool::cli
