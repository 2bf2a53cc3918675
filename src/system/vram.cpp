// SPDX-License-Identifier: MIT
#include "system/vram.hpp"

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "base/text.hpp"
#include "system/kfd.hpp"
#include "system/pci.hpp"

namespace hiptool::system {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view render_prefix = "renderD";

std::optional<Vram> read_one(const fs::path& drm, int minor) {
  const fs::path device = drm / (std::string(render_prefix) + std::to_string(minor)) / "device";
  const auto read = [&](const char* file) {
    return base::parse_number<std::uint64_t>(base::read_small_file(device / file));
  };
  const auto total = read("mem_info_vram_total");
  if (!total) return {};
  Vram vram;
  vram.render_minor = minor;
  vram.total_bytes = *total;
  vram.used_bytes = read("mem_info_vram_used");
  std::error_code ignored;
  vram.bus_id = normalize_bus_id(fs::read_symlink(device, ignored).filename().string());
  return vram;
}

// Render minors in the order of the topology's nodes.
std::vector<int> minors_of_topology(const fs::path& root) {
  std::vector<int> minors;
  for (const KfdNode& node : read_kfd_nodes(root)) {
    const auto minor = base::parse_number<int>(node.render_minor);
    if (minor) minors.push_back(*minor);
  }
  return minors;
}

}  // namespace

std::vector<Vram> read_vram(const fs::path& root) {
  const fs::path drm = root / "sys/class/drm";
  std::vector<Vram> found;
  for (const fs::path& entry : base::list_folder(drm)) {
    const std::string name = entry.filename().string();
    if (name.rfind(render_prefix, 0) != 0) continue;
    const auto minor = base::parse_number<int>(std::string_view(name).substr(render_prefix.size()));
    if (!minor) continue;
    if (auto vram = read_one(drm, *minor)) found.push_back(std::move(*vram));
  }
  const std::vector<int> order = minors_of_topology(root);
  const auto place = [&order](const Vram& vram) {
    return std::pair(std::ranges::find(order, vram.render_minor) - order.begin(),
                     vram.render_minor);
  };
  std::ranges::sort(
      found, [&](const Vram& left, const Vram& right) { return place(left) < place(right); });
  return found;
}

}  // namespace hiptool::system
