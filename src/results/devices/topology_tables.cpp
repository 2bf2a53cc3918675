// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include "report/fields.hpp"
#include "report/measurement.hpp"
#include "results/devices/topology.hpp"

namespace hiptool::results {
namespace {

using machine::LinkKind;
using machine::TopologyPair;
using report::Unit;
using report::Value;

// The platform, if all have the same: then their ordinals are names enough, and eight fit.
std::string common_platform(const std::vector<std::string>& ids) {
  if (ids.empty()) return {};
  const std::string platform = report::platform_of(ids.front());
  const bool is_common = std::all_of(ids.begin(), ids.end(), [&](const std::string& id) {
    return report::platform_of(id) == platform;
  });
  return is_common ? platform : std::string();
}

std::string code_text(const TopologyPair& pair) {
  const bool is_refused = pair.peer_access && !*pair.peer_access;
  return short_code(pair) + (is_refused ? "*" : "");
}

// For the colours of a matrix: 1 is the shortest way.
double closeness(LinkKind kind) {
  switch (kind) {
    case LinkKind::nvlink:
    case LinkKind::xgmi: return 1;
    case LinkKind::pcie_switch: return 0.7;
    case LinkKind::pcie_root: return 0.45;
    case LinkKind::same_node: return 0.3;
    case LinkKind::across_nodes: return 0.15;
    case LinkKind::unknown: break;
  }
  return 0;
}

// A row for each name, a column for each GPU. Pairs are from the column to the row.
report::Table code_matrix(std::string title, const std::vector<std::string>& rows,
                          const std::vector<std::string>& ids,
                          const std::vector<TopologyPair>& pairs, bool is_from_row) {
  const std::string platform = common_platform(ids);
  const auto shown = [&platform](const std::string& id) {
    return platform.empty() ? id : id.substr(platform.size() + 1);
  };
  report::Table table;
  table.title = std::move(title);
  table.columns.push_back({"name", platform, Unit::none});
  for (const std::string& id : ids) table.columns.push_back({id, shown(id), Unit::none});
  for (const std::string& name : rows) {
    std::vector<Value> row{is_from_row ? shown(name) : name};
    std::vector<double> heat{0};
    for (const std::string& id : ids) {
      const auto found = std::find_if(pairs.begin(), pairs.end(), [&](const TopologyPair& pair) {
        return is_from_row ? pair.from == name && pair.to == id
                           : pair.from == id && pair.to == name;
      });
      row.emplace_back(found != pairs.end() ? code_text(*found) : "X");
      heat.push_back(found != pairs.end() ? closeness(found->kind) : 0);
    }
    table.rows.push_back(std::move(row));
    table.heat.push_back(std::move(heat));
  }
  return table;
}

// "15:01.0 > 16:00.0 > 18:00.0": from the root port; the domain only where it is not 0000.
Value path_text(const machine::TopologyPlace& place) {
  std::string text;
  for (auto hop = place.path.hops.rbegin(); hop != place.path.hops.rend(); ++hop) {
    const std::string_view id = hop->bus_id;
    const bool has_usual_domain = id.rfind("0000:", 0) == 0;
    text += (text.empty() ? "" : " > ") + std::string(has_usual_domain ? id.substr(5) : id);
  }
  return report::text_or_absent(text);
}

report::Array hops_value(const machine::TopologyPlace& place) {
  return report::array_of(place.path.hops, [](const system::PciPath::Hop& hop) {
    return report::Object{{"bus_id", hop.bus_id},
                          {"speed_gt_s", hop.link.speed_gt_s},
                          {"width", hop.link.width},
                          {"max_speed_gt_s", hop.link.max_speed_gt_s},
                          {"max_width", hop.link.max_width}};
  });
}

report::Fields<machine::TopologyPlace> place_fields() {
  using machine::TopologyPlace;
  return {{{"id", "ID"}, &TopologyPlace::id},
          {{"pci_bus_id"}, report::text_or_absent(&TopologyPlace::bus_id)},
          {{"numa_node", "NUMA"}, &TopologyPlace::numa_node},
          {{"cpus", "CPUs"}, report::text_or_absent(&TopologyPlace::cpus)},
          {{"host_bridge"}, report::text_or_absent(&TopologyPlace::host_bridge)},
          {{"path", "PCIe path"}, hops_value, path_text}};
}

report::Fields<system::Nic> nic_fields() {
  using system::Nic;
  const auto names = [](const Nic& nic) {
    return report::text_or_absent(fmt::format("{}", fmt::join(nic.interfaces, ", ")));
  };
  const auto rate = [](const Nic& nic) {
    return nic.bits_per_s ? Value(*nic.bits_per_s / 8) : Value();
  };
  return {
      {{"name", "Name"}, &Nic::name},
      {{"pci_bus_id", "PCI bus id"}, &Nic::bus_id},
      {{"rdma", "RDMA"}, &Nic::has_rdma},
      {{"interfaces", "Interfaces"},
       [](const Nic& nic) { return report::Array(nic.interfaces.begin(), nic.interfaces.end()); },
       names},
      {{"up", "Up"}, &Nic::is_up},
      {{"bits_per_s"}, &Nic::bits_per_s},
      {{"rate", "Link", Unit::rate}, rate},
  };
}

report::Fields<machine::LinkCost> link_cost_fields() {
  using machine::LinkCost;
  return {{{"code", "Link"}, &LinkCost::code},
          {{"pairs", "Pairs", Unit::count}, &LinkCost::pairs},
          {{"least_bytes_per_s", "Least", Unit::rate}, &LinkCost::least_bytes_per_s},
          {{"median_bytes_per_s", "Median", Unit::rate}, &LinkCost::median_bytes_per_s},
          {{"most_bytes_per_s", "Most", Unit::rate}, &LinkCost::most_bytes_per_s},
          {{"share_of_best", "Of the best", Unit::share}, &LinkCost::share_of_best}};
}

report::Fields<machine::HostCost> host_cost_fields() {
  using machine::HostCost;
  return {{{"device", "Device"}, &HostCost::device},
          {{"node", "Node"}, &HostCost::node},
          {{"numa_distance", "Distance", Unit::count}, &HostCost::numa_distance},
          {{"h2d_bytes_per_s", "To the device", Unit::rate}, &HostCost::h2d_bytes_per_s},
          {{"d2h_bytes_per_s", "From it", Unit::rate}, &HostCost::d2h_bytes_per_s}};
}

// What copies between the two cost; absent where that is not known.
template <class Member>
std::function<Value(const TopologyPair&)> cost(const TopologyFindings& topology, Member member) {
  return [&topology, member](const TopologyPair& pair) -> Value {
    if (!topology.costs) return {};
    const auto found = topology.costs->pairs.find({pair.from, pair.to});
    return found == topology.costs->pairs.end() ? Value() : Value(found->second.*member);
  };
}

report::Fields<TopologyPair> pair_fields(const TopologyFindings& topology) {
  using machine::PairCost;
  return {{{"from", "From"}, &TopologyPair::from},
          {{"to", "To"}, &TopologyPair::to},
          {{"device"}, &TopologyPair::from},
          {{"nic"}, &TopologyPair::to},
          {{"kind", "Link"}, [](const TopologyPair& pair) { return to_string(pair.kind); }},
          {{"count", "Links", Unit::count}, &TopologyPair::count},
          {{"hops", "Hops", Unit::count}, &TopologyPair::hops},
          {{"peer_access", "Peer"}, &TopologyPair::peer_access},
          {{"numa_distance", "NUMA", Unit::count}, &TopologyPair::numa_distance},
          {{"source"}, &TopologyPair::source},
          {{"code"}, machine::short_code},
          {{"cell"}, cost(topology, &PairCost::cell)},
          {{"bytes_per_s", "Rate", Unit::rate}, cost(topology, &PairCost::bytes_per_s)},
          {{"latency_s", "Latency", Unit::duration}, cost(topology, &PairCost::latency_s)}};
}

report::Array kinds_value(const TopologyFindings& topology) {
  return report::array_of(topology.ids, [&](const std::string& from) {
    return report::array_of(topology.ids, [&](const std::string& to) {
      const auto found = std::find_if(
          topology.pairs.begin(), topology.pairs.end(),
          [&](const TopologyPair& pair) { return pair.from == from && pair.to == to; });
      return found == topology.pairs.end() ? "self" : to_string(found->kind);
    });
  });
}

const char* meaning_of(const TopologyPair& pair) {
  switch (pair.kind) {
    case LinkKind::nvlink: return "NVn n NVLinks";
    case LinkKind::xgmi: return "XGMI";
    case LinkKind::pcie_switch:
      return short_code(pair) == "PIX" ? "PIX one PCIe switch" : "PXB several PCIe switches";
    case LinkKind::pcie_root: return "PHB one PCIe host bridge";
    case LinkKind::same_node: return "NODE within one NUMA node";
    case LinkKind::across_nodes: return "SYS between NUMA nodes";
    case LinkKind::unknown: break;
  }
  return "? not reported";
}

}  // namespace

std::vector<report::Table> topology_tables(const TopologyFindings& topology) {
  std::vector<report::Table> tables;
  if (topology.ids.size() > 1) {
    tables.push_back(
        code_matrix("Links between devices", topology.ids, topology.ids, topology.pairs, true));
  }
  std::vector<std::string> cards;
  for (const system::Nic& nic : topology.nics) cards.push_back(nic.name);
  if (!cards.empty() && !topology.ids.empty()) {
    tables.push_back(code_matrix("Links between devices and network cards", cards, topology.ids,
                                 topology.to_nics, false));
  }
  if (!topology.places.empty()) {
    tables.push_back(
        place_fields().only({"id", "numa_node", "cpus", "path"}).table("Places", topology.places));
  }
  if (!cards.empty()) {
    tables.push_back(nic_fields().without({"bits_per_s"}).table("Network cards", topology.nics));
  }
  if (!topology.costs) return tables;
  const auto& [pairs, links, host] = *topology.costs;
  if (!links.empty()) {
    tables.push_back(link_cost_fields().table("What the links cost: copies between GPUs", links));
  }
  if (!host.empty()) {
    tables.push_back(host_cost_fields().table(
        "What the NUMA distance costs: copies from and to pinned host memory", host));
  }
  return tables;
}

report::Table topology_pairs(const TopologyFindings& topology) {
  std::vector<std::string_view> keys{"from", "to",          "kind",         "count",
                                     "hops", "peer_access", "numa_distance"};
  if (topology.costs) keys.insert(keys.end(), {"bytes_per_s", "latency_s"});
  std::vector<TopologyPair> pairs = topology.pairs;
  pairs.insert(pairs.end(), topology.to_nics.begin(), topology.to_nics.end());
  return pair_fields(topology).only(keys).table(
      "Pairs: links, access to the peer's memory, NUMA distance", pairs);
}

report::Object topology_value(const TopologyFindings& topology) {
  const auto fields = pair_fields(topology);
  Value costs;
  if (topology.costs) {
    costs = report::Object{{"file", topology.costs_path},
                           {"links", link_cost_fields().objects(topology.costs->links)},
                           {"host", host_cost_fields().objects(topology.costs->host)}};
  }
  return {{"devices", report::Array(topology.ids.begin(), topology.ids.end())},
          {"kinds", kinds_value(topology)},
          {"links", fields.without({"device", "nic"}).objects(topology.pairs)},
          {"places", place_fields().objects(topology.places)},
          {"nics", nic_fields().without({"rate"}).objects(topology.nics)},
          {"nic_links",
           fields.only({"device", "nic", "kind", "code", "hops", "numa_distance", "source"})
               .objects(topology.to_nics)},
          {"costs", std::move(costs)}};
}

std::vector<report::Line> topology_notes(const TopologyFindings& topology) {
  std::vector<report::Line> lines;
  std::set<std::string> meanings;
  bool has_refusal = false;
  for (const auto* pairs : {&topology.pairs, &topology.to_nics}) {
    for (const TopologyPair& pair : *pairs) {
      meanings.insert(meaning_of(pair));
      has_refusal = has_refusal || (pair.peer_access && !*pair.peer_access);
    }
  }
  if (!meanings.empty()) {
    lines.push_back({report::Tone::plain, fmt::format("links: {}{}", fmt::join(meanings, ", "),
                                                      has_refusal ? ", * no peer access" : "")});
  }
  if (topology.ids.size() < 2) {
    lines.push_back({report::Tone::plain, "links between devices: fewer than two GPUs are usable"});
  }
  if (topology.costs) {
    lines.push_back({report::Tone::plain, "rates: measured by bench-copy, " + topology.costs_path});
  }
  return lines;
}

}  // namespace hiptool::results
