// SPDX-License-Identifier: MIT
#include "load/place/memory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>

#include "base/contains.hpp"
#include "core/platform_state.hpp"
#include "load/place/search.hpp"
#include "load/workers.hpp"
#include "system/host.hpp"
#include "system/pci.hpp"
#include "system/vram.hpp"

namespace hiptool {
namespace load {
namespace {

constexpr std::uint64_t least_vram_bytes = std::uint64_t{4} << 30;
// Each changes which device the runtime numbers first.
constexpr std::array hiding_variables{"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                      "GPU_DEVICE_ORDINAL", "CUDA_VISIBLE_DEVICES"};

bool is_only_cpu(std::optional<Platform> platform, std::span<const std::string> ids) {
  if (platform && *platform != Platform::cpu) return false;
  if (ids.empty()) return platform.has_value();
  return std::ranges::all_of(ids, [&](const std::string& id) {
    return id == "cpu" || id == "cpu:0" || (id == "all" && platform);
  });
}

std::optional<FitMemory> read_host_memory(const std::string& root) {
  const std::uint64_t total = system::read_host(root).memory_bytes;
  if (total == 0) return std::nullopt;
  return FitMemory{{{"cpu:0", total, system::available_memory_bytes(root), true}}, {}};
}

// The GPUs that the runtime would count, in its order; none if the files do not have all of them.
std::vector<DeviceMemory> read_amd_memory(const std::string& root, const GetEnvironment& getenv,
                                          const std::vector<system::PciDevice>& gpus) {
  for (const char* name : hiding_variables) {
    if (getenv(name)) return {};
  }
  const std::vector<system::Vram> found = system::read_vram(root);
  if (found.size() != gpus.size()) return {};
  std::vector<DeviceMemory> devices;
  for (const system::Vram& vram : found) {
    if (vram.total_bytes < least_vram_bytes) return {};
    std::optional<std::uint64_t> free_bytes;
    if (vram.used_bytes)
      free_bytes = vram.total_bytes - std::min(vram.total_bytes, *vram.used_bytes);
    devices.push_back({"amd:" + std::to_string(devices.size()), vram.total_bytes, free_bytes});
  }
  return devices;
}

// Absent where an id is not one of these devices'.
std::optional<FitMemory> choose(const std::vector<DeviceMemory>& devices,
                                std::span<const std::string> ids) {
  std::vector<bool> is_chosen(devices.size(), false);
  FitMemory memory;
  const auto take = [&](const std::string& id) {
    bool is_known = false;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (id != "all" && id != devices[i].id) continue;
      is_known = true;
      if (!is_chosen[i]) memory.chosen.push_back(devices[i]);
      is_chosen[i] = true;
    }
    return is_known;
  };
  if (ids.empty()) take(devices.front().id);
  if (!std::ranges::all_of(ids, take)) return std::nullopt;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (!is_chosen[i]) memory.others.push_back(devices[i]);
  }
  return memory;
}

}  // namespace

std::uint64_t margin_bytes(std::uint64_t size_bytes, bool is_host_memory) noexcept {
  constexpr std::uint64_t least_bytes = 64u << 20;
  return is_host_memory || size_bytes == 0 ? 0 : std::max(size_bytes / 20, least_bytes);
}

std::uint64_t needed_bytes(std::uint64_t size_bytes, bool is_host_memory) noexcept {
  const std::uint64_t margin = margin_bytes(size_bytes, is_host_memory);
  return margin > UINT64_MAX - size_bytes ? UINT64_MAX : size_bytes + margin;
}

std::uint64_t available_bytes(const DeviceMemory& memory) noexcept {
  return memory.free_bytes.value_or(memory.total_bytes);
}

std::uint64_t most_bytes(const DeviceMemory& memory, double share) noexcept {
  std::uint64_t available = available_bytes(memory);
  // Not at the full share: a double would round sizes that fit to the byte.
  if (share < 1) available = static_cast<std::uint64_t>(static_cast<double>(available) * share);
  return largest(available, [&](std::uint64_t size_bytes) {
    return margin_bytes(size_bytes, memory.is_host_memory) <= available - size_bytes;
  });
}

std::vector<std::uint64_t> most_bytes(std::span<const DeviceMemory> memory, double share) {
  std::vector<std::uint64_t> most;
  for (const DeviceMemory& device : memory) most.push_back(most_bytes(device, share));
  return most;
}

std::vector<DeviceMemory> read_other_memory(std::span<const Device> devices) {
  const auto is_host = [](const Device& device) { return device.is_host_memory(); };
  if (std::ranges::any_of(devices, is_host)) return {};
  // A Device shares the state of its platform; this one keeps it alive for the others.
  const auto owner = std::make_shared<const Device>(devices.front());
  const std::shared_ptr<const core::PlatformState> state(owner, &core::state_of(*owner));
  std::vector<DeviceMemory> others;
  for (int i = 0; i < state->device_count; ++i) {
    const Device device = core::Access::make_device(state, i);
    if (base::contains(devices, device)) continue;
    const auto total = device.info().memory_total_bytes;
    if (total) others.push_back({device.id(), *total, std::nullopt, false});
  }
  return others;
}

FitMemory read_fit_memory(std::span<const Device> devices) {
  return {read_memory(devices), read_other_memory(devices)};
}

std::optional<FitMemory> read_fit_memory(const std::string& system_root,
                                         const GetEnvironment& getenv,
                                         std::optional<Platform> platform,
                                         std::span<const std::string> ids) {
  if (is_only_cpu(platform, ids)) return read_host_memory(system_root);
  const std::vector<system::PciDevice> gpus = system::list_gpus(system_root);
  if (gpus.empty()) {
    const bool is_free_to_choose = ids.empty() && !platform;
    return is_free_to_choose ? read_host_memory(system_root) : std::nullopt;
  }
  const bool all_amd = std::ranges::all_of(gpus, [](const system::PciDevice& gpu) {
    return gpu.vendor == system::vendor_amd && gpu.driver == "amdgpu";
  });
  if (!all_amd || platform.value_or(Platform::amd) != Platform::amd) return std::nullopt;
  const std::vector<DeviceMemory> devices = read_amd_memory(system_root, getenv, gpus);
  return devices.empty() ? std::nullopt : choose(devices, ids);
}

}  // namespace load

std::vector<DeviceMemory> read_memory(std::span<const Device> devices) {
  const auto in_host = static_cast<std::uint64_t>(
      std::ranges::count_if(devices, [](const Device& device) { return device.is_host_memory(); }));
  std::vector<DeviceMemory> memory(devices.size());
  // To start a device takes some 0.1 s, so all start at once.
  load::run_for_each(devices.size(), [&](std::size_t i, const std::atomic<bool>&) {
    const Device& device = devices[i];
    const MemoryInfo info = device.memory();
    const bool is_host = device.is_host_memory();
    memory[i] = {device.id(), info.total_bytes, info.free_bytes / (is_host ? in_host : 1), is_host};
  });
  return memory;
}

}  // namespace hiptool
