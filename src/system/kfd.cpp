// SPDX-License-Identifier: MIT
#include "system/kfd.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/file.hpp"
#include "base/text.hpp"

namespace hiptool::system {
namespace {

namespace fs = std::filesystem;

std::string read_property(const fs::path& file, std::string_view key) {
  std::istringstream lines(base::read_small_file(file));
  for (std::string name, value; lines >> name >> value;) {
    if (name == key) return value;
  }
  return {};
}

std::vector<fs::path> list_nodes(const fs::path& root) {
  std::vector<fs::path> nodes;
  std::error_code error;
  fs::directory_iterator entry(root / "sys/class/kfd/kfd/topology/nodes", error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    nodes.push_back(entry->path());
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

}  // namespace

KfdTopology read_kfd_topology(const fs::path& root) {
  KfdTopology topology;
  for (const fs::path& node : list_nodes(root)) {
    ++topology.nodes;
    const std::string gpu_id = base::read_small_file(node / "gpu_id");
    if (gpu_id.empty()) ++topology.unreadable;
    if (!base::is_all_digits(gpu_id) || gpu_id == "0") continue;  // 0: a CPU
    KfdGpu gpu;
    gpu.arch = gfx_name(read_property(node / "properties", "gfx_target_version"));
    const std::string minor = read_property(node / "properties", "drm_render_minor");
    if (base::is_all_digits(minor) && minor != "0") gpu.render_minor = minor;
    topology.gpus.push_back(std::move(gpu));
  }
  return topology;
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
