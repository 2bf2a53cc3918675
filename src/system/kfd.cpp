// SPDX-License-Identifier: MIT
#include "system/kfd.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>

#include "base/file.hpp"
#include "base/text.hpp"
#include "system/pci.hpp"

namespace hiptool::system {
namespace {

namespace fs = std::filesystem;
using Properties = std::map<std::string, std::string>;

std::uint64_t number_of(std::string_view text) {
  return base::parse_number<std::uint64_t>(text).value_or(0);
}

Properties read_properties(const fs::path& file) {
  Properties properties;
  std::istringstream lines(base::read_small_file(file));
  for (std::string key, value; lines >> key >> value;) properties[key] = value;
  return properties;
}

// location_id is bus << 8 | device << 3 | function (kfd_topology.c, kfd_topology_add_device).
std::string bus_id_of(Properties& properties) {
  const auto location = static_cast<std::uint32_t>(number_of(properties["location_id"]));
  const auto domain = static_cast<std::uint32_t>(number_of(properties["domain"]));
  if (location == 0 && domain == 0) return {};
  return format_bus_id(domain, location >> 8 & 0xff, location >> 3 & 0x1f, location & 7);
}

void read_links(const fs::path& folder, std::vector<KfdLink>& links) {
  for (const fs::path& entry : base::list_folder(folder)) {
    Properties properties = read_properties(entry / "properties");
    if (properties.count("node_to") == 0) continue;
    // The smallest bandwidth is of one link, the largest of all (amdgpu_xgmi.c,
    // amdgpu_xgmi_get_bandwidth).
    const std::uint64_t one = number_of(properties["min_bandwidth"]);
    links.push_back({static_cast<int>(number_of(properties["type"])),
                     static_cast<int>(number_of(properties["node_to"])),
                     number_of(properties["weight"]),
                     one > 0 ? number_of(properties["max_bandwidth"]) / one : 0});
  }
}

KfdNode read_node(const fs::path& folder) {
  KfdNode node;
  node.number = static_cast<int>(number_of(folder.filename().string()));
  const std::string gpu_id = base::read_small_file(folder / "gpu_id");
  node.is_readable = !gpu_id.empty();
  node.is_gpu = number_of(gpu_id) != 0;
  if (!node.is_gpu) return node;
  node.gpu_id = gpu_id;
  Properties properties = read_properties(folder / "properties");
  node.arch = gfx_name(properties["gfx_target_version"]);
  node.bus_id = bus_id_of(properties);
  if (number_of(properties["drm_render_minor"]) != 0) {
    node.render_minor = properties["drm_render_minor"];
  }
  read_links(folder / "io_links", node.links);
  read_links(folder / "p2p_links", node.links);
  return node;
}

fs::path kfd_nodes_folder(const fs::path& root) {
  return root / "sys/class/kfd/kfd/topology/nodes";
}

}  // namespace

std::map<int, std::uint64_t> kfd_data_caches(const fs::path& root, std::string_view bus_id) {
  constexpr std::uint64_t is_data = 1;  // kfd_topology.h, HSA_CACHE_TYPE_DATA
  std::map<int, std::uint64_t> caches;
  for (const KfdNode& node : read_kfd_nodes(root)) {
    if (!node.is_gpu || node.bus_id != bus_id) continue;
    const fs::path folder = kfd_nodes_folder(root) / std::to_string(node.number) / "caches";
    for (const fs::path& entry : base::list_folder(folder)) {
      Properties properties = read_properties(entry / "properties");
      if ((number_of(properties["type"]) & is_data) == 0) continue;
      std::uint64_t& largest = caches[static_cast<int>(number_of(properties["level"]))];
      largest = std::max(largest, number_of(properties["size"]) << 10);  // KiB
    }
  }
  return caches;
}

std::vector<KfdNode> read_kfd_nodes(const fs::path& root) {
  std::vector<KfdNode> nodes;
  for (const fs::path& folder : base::list_folder(kfd_nodes_folder(root))) {
    nodes.push_back(read_node(folder));
  }
  std::ranges::sort(
      nodes, [](const KfdNode& left, const KfdNode& right) { return left.number < right.number; });
  return nodes;
}

std::string gfx_name(const std::string& gfx_target_version) {
  const unsigned number = base::parse_number<unsigned>(gfx_target_version).value_or(0);
  const unsigned minor = number / 100 % 100;
  const unsigned step = number % 100;
  if (number < 10000 || minor > 15 || step > 15) return {};
  constexpr std::string_view digits = "0123456789abcdef";
  return "gfx" + std::to_string(number / 10000) + digits[minor] + digits[step];
}

}  // namespace hiptool::system
