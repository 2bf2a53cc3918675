// SPDX-License-Identifier: MIT
#include "cli/process/visible_devices.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <system_error>

#include "base/contains.hpp"
#include "base/text.hpp"
#include "machine/selection.hpp"
#include "system/pci.hpp"

namespace hiptool::cli {
namespace {

namespace fs = std::filesystem;

// GPUs of one model have equal memory, and the default is the first of those; among others only
// the driver knows which has the most.
bool is_first_the_default(const fs::path& system_root) {
  const auto gpus = system::identify_gpus(system_root, system::vendor_nvidia);
  return std::all_of(gpus.begin(), gpus.end(), [&](const system::PciDevice& gpu) {
    return gpu.device == gpus.front().device;
  });
}

// Ordinals of the NVIDIA devices; none where the selection names one in another way.
std::optional<std::set<int>> selected_ordinals(const machine::DeviceSelection& selection,
                                               const fs::path& system_root) {
  std::set<int> ordinals;
  if (selection.ids.empty() && selection.platform.value_or(Platform::nvidia) == Platform::nvidia) {
    if (!is_first_the_default(system_root)) return std::nullopt;
    ordinals.insert(0);
  }
  for (std::string_view id : selection.ids) {
    constexpr std::string_view prefix = "nvidia:";
    if (id == "nvidia") id = "nvidia:0";
    if (id.starts_with("cpu")) continue;
    if (!id.starts_with(prefix)) return std::nullopt;
    const auto ordinal = base::parse_number<int>(id.substr(prefix.size()));
    if (!ordinal || *ordinal < 0) return std::nullopt;
    ordinals.insert(*ordinal);
  }
  return ordinals;
}

bool has_mig_devices(const fs::path& system_root) {
  std::error_code ignored;
  const fs::path folder = system_root / "proc/driver/nvidia/capabilities";
  for (const auto& gpu : fs::directory_iterator(folder, ignored)) {
    for (const auto& entry : fs::directory_iterator(gpu.path() / "mig", ignored)) {
      if (entry.path().filename().string().starts_with("gi")) return true;
    }
  }
  return false;
}

// A container may have some of the GPUs that its /sys lists; the driver counts those with a node.
std::size_t count_device_nodes(const fs::path& system_root) {
  constexpr std::string_view prefix = "nvidia";
  std::error_code ignored;
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(system_root / "dev", ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    count += base::parse_number<int>(std::string_view(name).substr(prefix.size())) ? 1u : 0u;
  }
  return count;
}

// What CUDA_VISIBLE_DEVICES calls the devices that the driver would show, in its order; none where
// only the driver can tell: it stops at the first invalid name, and shows no device if two names
// mean the same one, which files do not show of a UUID or of part of one.
std::vector<std::size_t> visible_numbers(const std::optional<std::string>& visible,
                                         const fs::path& system_root) {
  if (has_mig_devices(system_root)) return {};
  const std::size_t gpus = count_device_nodes(system_root);
  std::vector<std::size_t> numbers;
  if (!visible) {
    for (std::size_t i = 0; i < gpus; ++i) numbers.push_back(i);
    return numbers;
  }
  for (std::size_t at = 0; at <= visible->size();) {
    const std::size_t end = std::min(visible->find(',', at), visible->size());
    const auto number = base::parse_number<std::size_t>(visible->substr(at, end - at));
    if (!number || *number >= gpus || base::contains(numbers, *number)) return {};
    numbers.push_back(*number);
    at = end + 1;
  }
  return numbers;
}

}  // namespace

std::optional<VisibleDevices> limit_visible_devices(const machine::DeviceSelection& selection,
                                                    const std::optional<std::string>& visible,
                                                    const fs::path& system_root) {
  const auto ordinals = selected_ordinals(selection, system_root);
  if (!ordinals || ordinals->empty()) return std::nullopt;
  if (!system::identify_gpus(system_root, system::vendor_amd).empty()) return std::nullopt;
  const std::vector<std::size_t> numbers = visible_numbers(visible, system_root);
  if (numbers.size() <= ordinals->size()) return std::nullopt;
  if (static_cast<std::size_t>(*ordinals->rbegin()) >= numbers.size()) return std::nullopt;
  VisibleDevices limited;
  for (const int ordinal : *ordinals) {
    if (!limited.variable.empty()) limited.variable += ',';
    limited.variable += std::to_string(numbers[static_cast<std::size_t>(ordinal)]);
    limited.ordinals.push_back(ordinal);
  }
  return limited;
}

}  // namespace hiptool::cli
