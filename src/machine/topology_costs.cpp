// SPDX-License-Identifier: MIT
#include "machine/topology_costs.hpp"

#include <algorithm>
#include <string_view>

#include "base/statistics.hpp"
#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "system/pci.hpp"

namespace hiptool::machine {
namespace {

using report::Measurement;

Error refuse_costs(std::string message, std::string hint) {
  return Error(ErrorCode::invalid_argument, "read costs", std::move(message), std::move(hint));
}

bool starts_with_kind(const Measurement& one, std::string_view kind) {
  return one.label.rfind(std::string(kind) + ".", 0) == 0;
}

bool is_latency_of(const Measurement& one) {
  return one.label.size() > 8 && one.label.find(".latency") != std::string::npos;
}

// Writes before reads, then the larger one.
bool is_better(const Measurement& left, const Measurement& right) {
  const bool left_writes = starts_with_kind(left, "p2p-write");
  const bool right_writes = starts_with_kind(right, "p2p-write");
  return left_writes != right_writes ? left_writes : left.size_bytes > right.size_bytes;
}

void add_pair_costs(const report::RunFile& file, const std::vector<TopologyPair>& pairs,
                    TopologyCosts& costs) {
  for (const TopologyPair& pair : pairs) {
    const Measurement* best = nullptr;
    std::optional<double> latency_s;
    for (const Measurement& one : file.measurements) {
      const bool is_peer = starts_with_kind(one, "p2p-write") || starts_with_kind(one, "p2p-read");
      if (!is_peer || one.status != report::Status::ok || one.source != pair.from ||
          one.destination != pair.to) {
        continue;
      }
      if (is_latency_of(one)) {
        latency_s = one.median_s;
      } else if (one.bytes_per_s && (best == nullptr || is_better(one, *best))) {
        best = &one;
      }
    }
    if (best == nullptr) continue;
    costs.pairs[{pair.from, pair.to}] = {best->id, *best->bytes_per_s, latency_s};
  }
}

void add_link_costs(const std::vector<TopologyPair>& pairs, TopologyCosts& costs) {
  std::map<std::string, std::vector<double>> rates;
  for (const TopologyPair& pair : pairs) {
    const auto found = costs.pairs.find({pair.from, pair.to});
    if (found != costs.pairs.end()) rates[short_code(pair)].push_back(found->second.bytes_per_s);
  }
  for (auto& [code, list] : rates) {
    std::ranges::sort(list);
    costs.links.push_back({code, list.size(), list.front(), base::median(list), list.back(), 0});
  }
  std::ranges::sort(costs.links, [](const LinkCost& left, const LinkCost& right) {
    return left.median_bytes_per_s > right.median_bytes_per_s;
  });
  for (LinkCost& link : costs.links) {
    link.share_of_best = link.median_bytes_per_s / costs.links.front().median_bytes_per_s;
  }
}

// "host:1" is the memory of node 1.
std::optional<int> node_of_memory(const std::string& name) {
  constexpr std::string_view start = "host:";
  if (name.rfind(start, 0) != 0) return {};
  return base::parse_number<int>(std::string_view(name).substr(start.size()));
}

void add_host_costs(const report::RunFile& file, const std::filesystem::path& root,
                    const std::vector<TopologyPlace>& places, TopologyCosts& costs) {
  std::map<std::pair<std::string, int>, std::pair<const Measurement*, const Measurement*>> found;
  for (const Measurement& one : file.measurements) {
    const bool is_h2d = starts_with_kind(one, "h2d.pinned.copy");
    const bool is_d2h = starts_with_kind(one, "d2h.pinned.copy");
    if (!(is_h2d || is_d2h) || !one.bytes_per_s || one.status != report::Status::ok) continue;
    const auto node = node_of_memory(is_h2d ? one.source : one.destination);
    if (!node) continue;
    auto& [h2d, d2h] = found[{is_h2d ? one.destination : one.source, *node}];
    const Measurement*& kept = is_h2d ? h2d : d2h;
    if (kept == nullptr || one.size_bytes > kept->size_bytes) kept = &one;
  }
  for (const TopologyPlace& place : places) {
    for (const auto& [key, copies] : found) {
      if (key.first != place.id) continue;
      HostCost& cost = costs.host.emplace_back();
      cost.device = place.id;
      cost.node = key.second;
      if (place.numa_node) cost.numa_distance = numa_distance(root, *place.numa_node, cost.node);
      if (copies.first != nullptr) cost.h2d_bytes_per_s = copies.first->bytes_per_s;
      if (copies.second != nullptr) cost.d2h_bytes_per_s = copies.second->bytes_per_s;
    }
  }
}

// A device of that id which has another bus id is another machine's, or the order has changed.
void require_same_devices(const report::RunFile& file, const std::vector<TopologyPlace>& places) {
  for (const TopologyPlace& place : places) {
    const std::string there =
        system::normalize_bus_id(report::texts_of(file.devices, place.id).pci_bus_id);
    if (there.empty() || place.bus_id.empty() || there == place.bus_id) continue;
    throw refuse_costs("--costs: " + file.path + " was measured on other devices: " + place.id +
                           " is at " + there + " there, at " + place.bus_id + " here",
                       "measure on this machine with `hiptool bench-copy --kind p2p-write "
                       "--export json=FILE`");
  }
}

}  // namespace

TopologyCosts read_costs(const report::RunFile& file, const std::filesystem::path& root,
                         const std::vector<TopologyPlace>& places,
                         const std::vector<TopologyPair>& pairs) {
  constexpr const char* how_to_measure =
      "write one with `hiptool bench-copy --device all --kind p2p-write,h2d,d2h --export "
      "json=FILE`";
  if (file.run.command != "bench-copy") {
    throw refuse_costs("--costs: " + file.path + " is a document of " + file.run.command,
                       how_to_measure);
  }
  require_same_devices(file, places);
  TopologyCosts costs;
  add_pair_costs(file, pairs, costs);
  add_link_costs(pairs, costs);
  add_host_costs(file, root, places, costs);
  if (costs.pairs.empty() && costs.host.empty()) {
    throw refuse_costs(
        "--costs: " + file.path + " has no copies between these devices, and none of a NUMA node",
        how_to_measure);
  }
  return costs;
}

}  // namespace hiptool::machine
