// SPDX-License-Identifier: MIT
#include "measure/copy/xgmi.hpp"

#include <algorithm>
#include <array>

namespace hiptool::measure {
namespace {

struct LinkRate {
  std::string_view arch;
  double bytes_per_s;  ///< of a link of 16 lanes, in one direction
};

// docs/peaks.md names the source of every figure, and a test compares the two.
constexpr std::array link_rates{
    LinkRate{"gfx908", 46e9},
    LinkRate{"gfx90a", 50e9},
    LinkRate{"gfx942", 64e9},
    LinkRate{"gfx950", 76.8e9},
};

using Node = const system::KfdNode*;

Node find_gpu(const std::vector<system::KfdNode>& nodes, std::string_view bus_id) {
  const auto found = std::ranges::find_if(nodes, [&](const system::KfdNode& node) {
    return node.is_gpu && !bus_id.empty() && node.bus_id == bus_id;
  });
  return found == nodes.end() ? nullptr : &*found;
}

}  // namespace

std::optional<double> xgmi_bytes_per_s(const std::vector<system::KfdNode>& nodes,
                                       std::string_view from, std::string_view to) {
  const Node start = find_gpu(nodes, from);
  const Node end = find_gpu(nodes, to);
  if (start == nullptr || end == nullptr || start->arch != end->arch) return {};
  const auto* const rate = std::ranges::find(link_rates, start->arch, &LinkRate::arch);
  if (rate == link_rates.end()) return {};
  for (const system::KfdLink& link : start->links) {
    if (link.type == system::KfdLink::xgmi && link.to_node == end->number && link.parallel > 0) {
      return rate->bytes_per_s * static_cast<double>(link.parallel);
    }
  }
  return {};
}

}  // namespace hiptool::measure
