// SPDX-License-Identifier: MIT
#include "system/vram.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "base/text.hpp"
#include "system/pci.hpp"

namespace hiptool::system {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view render_prefix = "renderD";

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  return names;
}

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

// Render minors in the order of the topology's nodes; a CPU's is 0, which no render node has.
std::vector<int> minors_of_topology(const fs::path& root) {
  const fs::path nodes = root / "sys/class/kfd/kfd/topology/nodes";
  std::vector<int> numbers;
  for (const std::string& name : names_in(nodes)) {
    if (const auto number = base::parse_number<int>(name)) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  std::vector<int> minors;
  for (const int number : numbers) {
    std::istringstream lines(base::read_small_file(nodes / std::to_string(number) / "properties"));
    for (std::string key, value; lines >> key >> value;) {
      if (key != "drm_render_minor") continue;
      if (const auto minor = base::parse_number<int>(value)) minors.push_back(*minor);
    }
  }
  return minors;
}

}  // namespace

std::vector<Vram> read_vram(const fs::path& root) {
  const fs::path drm = root / "sys/class/drm";
  std::vector<Vram> found;
  for (const std::string& name : names_in(drm)) {
    if (name.rfind(render_prefix, 0) != 0) continue;
    const auto minor = base::parse_number<int>(std::string_view(name).substr(render_prefix.size()));
    if (!minor) continue;
    if (auto vram = read_one(drm, *minor)) found.push_back(std::move(*vram));
  }
  const std::vector<int> order = minors_of_topology(root);
  const auto place = [&order](const Vram& vram) {
    return std::pair(std::find(order.begin(), order.end(), vram.render_minor) - order.begin(),
                     vram.render_minor);
  };
  std::sort(found.begin(), found.end(),
            [&](const Vram& left, const Vram& right) { return place(left) < place(right); });
  return found;
}

}  // namespace hiptool::system
