// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "report/document.hpp"
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

report::Table places_table(const TopologyFindings& topology) {
  report::Table table;
  table.title = "Places";
  table.columns = {{"id", "ID", Unit::none},
                   {"numa_node", "NUMA", Unit::none},
                   {"cpus", "CPUs", Unit::none},
                   {"path", "PCIe path", Unit::none}};
  for (const machine::TopologyPlace& place : topology.places) {
    table.rows.push_back(
        {place.id, place.numa_node, report::text_or_absent(place.cpus), path_text(place)});
  }
  return table;
}

report::Table nics_table(const TopologyFindings& topology) {
  report::Table table;
  table.title = "Network cards";
  table.columns = {{"name", "Name", Unit::none}, {"pci_bus_id", "PCI bus id", Unit::none},
                   {"rdma", "RDMA", Unit::none}, {"interfaces", "Interfaces", Unit::none},
                   {"up", "Up", Unit::none},     {"rate", "Link", Unit::rate}};
  for (const system::Nic& nic : topology.nics) {
    table.rows.push_back(
        {nic.name, nic.bus_id, nic.has_rdma,
         report::text_or_absent(fmt::format("{}", fmt::join(nic.interfaces, ", "))), nic.is_up,
         nic.bits_per_s ? report::Value(*nic.bits_per_s / 8) : report::Value()});
  }
  return table;
}

report::Table link_costs_table(const machine::TopologyCosts& costs) {
  report::Table table;
  table.title = "What the links cost: copies between GPUs";
  table.columns = {{"code", "Link", Unit::none},
                   {"pairs", "Pairs", Unit::count},
                   {"least_bytes_per_s", "Least", Unit::rate},
                   {"median_bytes_per_s", "Median", Unit::rate},
                   {"most_bytes_per_s", "Most", Unit::rate},
                   {"share_of_best", "Of the best", Unit::share}};
  for (const machine::LinkCost& link : costs.links) {
    table.rows.push_back({link.code, std::uint64_t{link.pairs}, link.least_bytes_per_s,
                          link.median_bytes_per_s, link.most_bytes_per_s, link.share_of_best});
  }
  return table;
}

report::Table host_costs_table(const machine::TopologyCosts& costs) {
  report::Table table;
  table.title = "What the NUMA distance costs: copies from and to pinned host memory";
  table.columns = {{"device", "Device", Unit::none},
                   {"node", "Node", Unit::none},
                   {"numa_distance", "Distance", Unit::count},
                   {"h2d_bytes_per_s", "To the device", Unit::rate},
                   {"d2h_bytes_per_s", "From it", Unit::rate}};
  for (const machine::HostCost& cost : costs.host) {
    table.rows.push_back(
        {cost.device, cost.node, cost.numa_distance, cost.h2d_bytes_per_s, cost.d2h_bytes_per_s});
  }
  return table;
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
  if (!topology.places.empty()) tables.push_back(places_table(topology));
  if (!cards.empty()) tables.push_back(nics_table(topology));
  if (!topology.costs) return tables;
  if (!topology.costs->links.empty()) tables.push_back(link_costs_table(*topology.costs));
  if (!topology.costs->host.empty()) tables.push_back(host_costs_table(*topology.costs));
  return tables;
}

report::Table topology_pairs(const TopologyFindings& topology) {
  report::Table table;
  table.title = "Pairs: links, access to the peer's memory, NUMA distance";
  table.columns = {{"from", "From", Unit::none},          {"to", "To", Unit::none},
                   {"kind", "Link", Unit::none},          {"count", "Links", Unit::count},
                   {"hops", "Hops", Unit::count},         {"peer_access", "Peer", Unit::none},
                   {"numa_distance", "NUMA", Unit::count}};
  if (topology.costs) {
    table.columns.push_back({"bytes_per_s", "Rate", Unit::rate});
    table.columns.push_back({"latency_s", "Latency", Unit::duration});
  }
  for (const auto* pairs : {&topology.pairs, &topology.to_nics}) {
    for (const TopologyPair& pair : *pairs) {
      auto& row = table.rows.emplace_back();
      row = {pair.from, pair.to,          to_string(pair.kind), pair.count,
             pair.hops, pair.peer_access, pair.numa_distance};
      if (!topology.costs) continue;
      const auto found = topology.costs->pairs.find({pair.from, pair.to});
      const bool is_measured = found != topology.costs->pairs.end();
      row.push_back(is_measured ? Value(found->second.bytes_per_s) : Value());
      row.push_back(is_measured ? Value(found->second.latency_s) : Value());
    }
  }
  return table;
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
