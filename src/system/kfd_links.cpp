// SPDX-License-Identifier: MIT
#include "system/kfd_links.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/file.hpp"
#include "base/text.hpp"
#include "system/kfd.hpp"

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

std::vector<fs::path> folders_in(const fs::path& parent) {
  std::vector<fs::path> folders;
  std::error_code error;
  fs::directory_iterator entry(parent, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    folders.push_back(entry->path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

// location_id is bus << 8 | device << 3 | function (kfd_topology.c, kfd_topology_add_device).
std::string bus_id_of(Properties& properties) {
  const std::uint64_t location = number_of(properties["location_id"]);
  const std::uint64_t domain = number_of(properties["domain"]);
  if (location == 0 && domain == 0) return {};
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%x", static_cast<unsigned>(domain),
                static_cast<unsigned>(location >> 8 & 0xff),
                static_cast<unsigned>(location >> 3 & 0x1f), static_cast<unsigned>(location & 7));
  return text.data();
}

void read_links(const fs::path& folder, std::vector<KfdLink>& links) {
  for (const fs::path& entry : folders_in(folder)) {
    Properties properties = read_properties(entry / "properties");
    if (properties.count("node_to") == 0) continue;
    KfdLink link;
    link.type = static_cast<int>(number_of(properties["type"]));
    link.to_node = static_cast<int>(number_of(properties["node_to"]));
    link.weight = number_of(properties["weight"]);
    link.max_bandwidth_mb_s = number_of(properties["max_bandwidth"]);
    links.push_back(link);
  }
}

KfdNode read_node(const fs::path& folder) {
  KfdNode node;
  node.number = static_cast<int>(number_of(folder.filename().string()));
  const std::string gpu_id = base::read_small_file(folder / "gpu_id");
  node.is_readable = !gpu_id.empty();
  node.is_gpu = number_of(gpu_id) != 0;
  if (!node.is_gpu) return node;
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

}  // namespace

std::vector<KfdNode> read_kfd_nodes(const fs::path& root) {
  std::vector<KfdNode> nodes;
  for (const fs::path& folder : folders_in(root / "sys/class/kfd/kfd/topology/nodes")) {
    nodes.push_back(read_node(folder));
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const KfdNode& left, const KfdNode& right) { return left.number < right.number; });
  return nodes;
}

}  // namespace hiptool::system
