// SPDX-License-Identifier: MIT
#include "results/devices/topology.hpp"

#include <algorithm>

#include "hiptool/device.hpp"
#include "hiptool/error.hpp"
#include "machine/selection.hpp"
#include "report/document.hpp"
#include "results/devices/inventory.hpp"

namespace hiptool::results {
namespace {

using machine::DeviceFacts;
using machine::Inventory;
using machine::TopologyPair;

const TopologyPair* pair_of(const TopologyFindings& topology, const std::string& from,
                            const std::string& to) {
  for (const TopologyPair& pair : topology.pairs) {
    if (pair.from == from && pair.to == to) return &pair;
  }
  return nullptr;
}

report::Array kinds_value(const TopologyFindings& topology) {
  report::Array rows;
  for (const std::string& from : topology.ids) {
    report::Array row;
    for (const std::string& to : topology.ids) {
      const TopologyPair* pair = pair_of(topology, from, to);
      row.push_back(pair == nullptr ? "self" : to_string(pair->kind));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

report::Array links_value(const TopologyFindings& topology) {
  report::Array links;
  for (const TopologyPair& pair : topology.pairs) {
    report::Object link{{"from", pair.from},
                        {"to", pair.to},
                        {"kind", to_string(pair.kind)},
                        {"count", pair.count},
                        {"hops", pair.hops},
                        {"peer_access", pair.peer_access},
                        {"numa_distance", pair.numa_distance},
                        {"source", pair.source},
                        {"code", short_code(pair)}};
    const machine::PairCost* cost = nullptr;
    if (topology.costs) {
      const auto found = topology.costs->pairs.find({pair.from, pair.to});
      if (found != topology.costs->pairs.end()) cost = &found->second;
    }
    link.emplace_back("cell", cost != nullptr ? report::Value(cost->cell) : report::Value());
    link.emplace_back("bytes_per_s",
                      cost != nullptr ? report::Value(cost->bytes_per_s) : report::Value());
    link.emplace_back("latency_s",
                      cost != nullptr ? report::Value(cost->latency_s) : report::Value());
    links.push_back(std::move(link));
  }
  return links;
}

report::Array places_value(const TopologyFindings& topology) {
  report::Array places;
  for (const machine::TopologyPlace& place : topology.places) {
    report::Array path;
    for (const system::PciPath::Hop& hop : place.path.hops) {
      path.push_back(report::Object{{"bus_id", hop.bus_id},
                                    {"speed_gt_s", hop.link.speed_gt_s},
                                    {"width", hop.link.width},
                                    {"max_speed_gt_s", hop.link.max_speed_gt_s},
                                    {"max_width", hop.link.max_width}});
    }
    places.push_back(report::Object{{"id", place.id},
                                    {"pci_bus_id", report::text_or_absent(place.bus_id)},
                                    {"numa_node", place.numa_node},
                                    {"cpus", report::text_or_absent(place.cpus)},
                                    {"host_bridge", report::text_or_absent(place.host_bridge)},
                                    {"path", std::move(path)}});
  }
  return places;
}

report::Array nics_value(const TopologyFindings& topology) {
  report::Array nics;
  for (const system::Nic& nic : topology.nics) {
    nics.push_back(
        report::Object{{"name", nic.name},
                       {"pci_bus_id", nic.bus_id},
                       {"rdma", nic.has_rdma},
                       {"interfaces", report::Array(nic.interfaces.begin(), nic.interfaces.end())},
                       {"up", nic.is_up},
                       {"bits_per_s", nic.bits_per_s}});
  }
  return nics;
}

report::Array nic_links_value(const TopologyFindings& topology) {
  report::Array links;
  for (const TopologyPair& pair : topology.to_nics) {
    links.push_back(report::Object{{"device", pair.from},
                                   {"nic", pair.to},
                                   {"kind", to_string(pair.kind)},
                                   {"code", short_code(pair)},
                                   {"hops", pair.hops},
                                   {"numa_distance", pair.numa_distance},
                                   {"source", pair.source}});
  }
  return links;
}

report::Value costs_value(const TopologyFindings& topology) {
  if (!topology.costs) return {};
  report::Array links;
  for (const machine::LinkCost& link : topology.costs->links) {
    links.push_back(report::Object{{"code", link.code},
                                   {"pairs", std::uint64_t{link.pairs}},
                                   {"least_bytes_per_s", link.least_bytes_per_s},
                                   {"median_bytes_per_s", link.median_bytes_per_s},
                                   {"most_bytes_per_s", link.most_bytes_per_s},
                                   {"share_of_best", link.share_of_best}});
  }
  report::Array host;
  for (const machine::HostCost& cost : topology.costs->host) {
    host.push_back(report::Object{{"device", cost.device},
                                  {"node", cost.node},
                                  {"numa_distance", cost.numa_distance},
                                  {"h2d_bytes_per_s", cost.h2d_bytes_per_s},
                                  {"d2h_bytes_per_s", cost.d2h_bytes_per_s}});
  }
  return report::Object{
      {"file", topology.costs_path}, {"links", std::move(links)}, {"host", std::move(host)}};
}

}  // namespace

TopologyFindings find_topology(const Inventory& inventory, const std::filesystem::path& root,
                               const machine::AskPeer& ask_peer) {
  TopologyFindings topology;
  std::vector<machine::TopologyDevice> devices;
  for (const DeviceFacts& facts : inventory.devices) {
    if (!machine::is_gpu(facts.platform)) continue;
    machine::TopologyDevice& device = devices.emplace_back();
    device.id = facts.id;
    device.platform = facts.platform;
    device.bus_id = system::normalize_bus_id(facts.info.pci_bus_id.value_or(""));
    topology.ids.push_back(facts.id);
    if (facts.sensors) device.nvlink_remotes = facts.sensors->link_remotes;
    topology.places.push_back(machine::read_place(root, device.id, device.bus_id));
  }
  topology.pairs = machine::read_topology(root, devices, ask_peer);
  topology.nics = system::list_nics(root);
  topology.to_nics = machine::read_nic_topology(root, devices, topology.nics);
  for (const system::Nic& nic : topology.nics) {
    topology.places.push_back(machine::read_place(root, nic.name, nic.bus_id));
  }
  return topology;
}

void add_costs(const report::RunFile& file, const std::filesystem::path& root,
               TopologyFindings& topology) {
  const std::vector<machine::TopologyPlace> devices(
      topology.places.begin(),
      topology.places.begin() + static_cast<std::ptrdiff_t>(topology.ids.size()));
  topology.costs = machine::read_costs(file, root, devices, topology.pairs);
  topology.costs_path = file.path;
}

machine::AskPeer peers_of(Platforms& platforms) {
  return [&platforms](const std::string& from, const std::string& to) -> std::optional<bool> {
    try {
      return can_access_peer(find_device(platforms, from), find_device(platforms, to));
    } catch (const Error&) {
      return {};
    }
  };
}

report::Object topology_value(const TopologyFindings& topology) {
  return {{"devices", report::Array(topology.ids.begin(), topology.ids.end())},
          {"kinds", kinds_value(topology)},
          {"links", links_value(topology)},
          {"places", places_value(topology)},
          {"nics", nics_value(topology)},
          {"nic_links", nic_links_value(topology)},
          {"costs", costs_value(topology)}};
}

}  // namespace hiptool::results
