// SPDX-License-Identifier: MIT
#include "cli/commands/load/fit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

#include "hiptool/units.hpp"
#include "load/place/layer_name.hpp"
#include "system/host.hpp"
#include "system/pci.hpp"
#include "system/vram.hpp"

namespace hiptool::cli {
namespace {

constexpr std::uint64_t least_vram_bytes = std::uint64_t{4} << 30;
// Each changes which device the runtime calls the first.
constexpr std::array hiding_variables{"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                      "GPU_DEVICE_ORDINAL", "CUDA_VISIBLE_DEVICES"};

bool asks_only_for_cpu(const DeviceSelection& selection) {
  if (selection.platform && *selection.platform != Platform::cpu) return false;
  if (selection.ids.empty()) return selection.platform.has_value();
  return std::all_of(selection.ids.begin(), selection.ids.end(), [&](const std::string& id) {
    return id == "cpu" || id == "cpu:0" || (id == "all" && selection.platform);
  });
}

std::optional<FitMemory> read_host_memory(const Environment& environment) {
  const std::uint64_t total = system::read_host(environment.system_root).memory_bytes;
  if (total == 0) return std::nullopt;
  return FitMemory{
      {{"cpu:0", total, system::available_memory_bytes(environment.system_root), true}}, {}};
}

// The GPUs that the runtime would count, in its order; none if files do not tell.
std::vector<FitDevice> read_amd_devices(const Environment& environment,
                                        const std::vector<system::PciDevice>& gpus) {
  for (const char* name : hiding_variables) {
    if (environment.getenv(name)) return {};
  }
  const std::vector<system::Vram> memories = system::read_vram(environment.system_root);
  if (memories.size() != gpus.size()) return {};
  std::vector<FitDevice> devices;
  for (const system::Vram& memory : memories) {
    if (memory.total_bytes < least_vram_bytes) return {};
    std::optional<std::uint64_t> free_bytes;
    if (memory.used_bytes) {
      free_bytes = memory.total_bytes - std::min(memory.total_bytes, *memory.used_bytes);
    }
    devices.push_back({fmt::format("amd:{}", devices.size()), memory.total_bytes, free_bytes});
  }
  return devices;
}

// Of these devices the chosen ones; absent where an id is not one of theirs.
std::optional<FitMemory> choose(const std::vector<FitDevice>& devices,
                                std::vector<std::string> ids) {
  if (ids.empty()) ids.push_back(devices.front().id);
  std::vector<bool> is_chosen(devices.size(), false);
  FitMemory memory;
  for (const std::string& id : ids) {
    bool is_known = false;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (id != "all" && id != devices[i].id) continue;
      is_known = true;
      if (!is_chosen[i]) memory.chosen.push_back(devices[i]);
      is_chosen[i] = true;
    }
    if (!is_known) return std::nullopt;
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (!is_chosen[i]) memory.others.push_back(devices[i]);
  }
  return memory;
}

std::string place_text(const std::vector<FitDevice>& devices) {
  std::vector<std::string> ids;
  std::uint64_t total = 0;
  std::uint64_t free = 0;
  for (const FitDevice& device : devices) {
    ids.push_back(device.id);
    total += device.memory_total_bytes;
    free += device.memory_free_bytes.value_or(device.memory_total_bytes);
  }
  return fmt::format("{}, where {} of {} are free", fmt::join(ids, ", "), format_size(free),
                     format_size(total));
}

std::string hint_of(const ModelFit& fit) {
  std::vector<std::string> ways;
  if (fit.verdict == FitVerdict::split) {
    std::vector<std::string> ids;
    std::vector<std::string> shares;
    for (const FitPart& part : fit.parts) ids.push_back(part.device.id);
    for (const double share : fit.split) shares.push_back(format_share(share));
    ways.push_back(fmt::format("split it over {} ({}), which holds it", fmt::join(ids, ","),
                               fmt::join(shares, ", ")));
  }
  if (fit.most_context.value_or(0) > 0) {
    ways.push_back(fmt::format("take --context {} at most", *fit.most_context));
  }
  if (fit.gpu_layers.value_or(0) > 0) {
    ways.push_back(
        fmt::format("leave layers to the processor (llama.cpp: -ngl {})", *fit.gpu_layers));
  }
  ways.emplace_back("free memory on the device, or choose a larger one or a smaller model");
  return fmt::format("{}", fmt::join(ways, "; or "));
}

// Before the layers, each layer, behind them, as fit_model sorts them.
std::uint64_t place_of(std::string_view tensor, std::uint64_t layers) {
  const load::LayerName name = load::read_layer_name(tensor);
  if (name.section == load::Section::behind_layers) return layers + 1;
  const bool is_layer = name.section == load::Section::layer && name.layer < layers;
  return is_layer ? name.layer + 1 : 0;
}

}  // namespace

std::optional<FitMemory> read_fit_memory(const Environment& environment,
                                         const DeviceSelection& selection) {
  if (asks_only_for_cpu(selection)) return read_host_memory(environment);
  const std::vector<system::PciDevice> gpus = system::list_gpus(environment.system_root);
  if (gpus.empty()) {
    const bool is_free_to_choose = selection.ids.empty() && !selection.platform;
    return is_free_to_choose ? read_host_memory(environment) : std::nullopt;
  }
  const bool all_amd = std::all_of(gpus.begin(), gpus.end(), [](const system::PciDevice& gpu) {
    return gpu.vendor == system::vendor_amd && gpu.driver == "amdgpu";
  });
  if (!all_amd || selection.platform.value_or(Platform::amd) != Platform::amd) return std::nullopt;
  const std::vector<FitDevice> devices = read_amd_devices(environment, gpus);
  return devices.empty() ? std::nullopt : choose(devices, selection.ids);
}

FitMemory ask_fit_memory(Platforms& platforms, const std::vector<Device>& devices) {
  FitMemory memory;
  const auto in_host = static_cast<std::uint64_t>(
      std::count_if(devices.begin(), devices.end(),
                    [](const Device& device) { return device.is_host_memory(); }));
  for (const Device& device : devices) {
    const MemoryInfo info = device.memory();
    // Devices of the cpu platform share the host's memory.
    const std::uint64_t sharers = device.is_host_memory() ? in_host : 1;
    memory.chosen.push_back(
        {device.id(), info.total_bytes, info.free_bytes / sharers, device.is_host_memory()});
  }
  if (in_host > 0) return memory;
  for (const Device& device : platforms.devices(devices.front().platform())) {
    if (std::find(devices.begin(), devices.end(), device) != devices.end()) continue;
    const auto total = device.info().memory_total_bytes;
    if (total) memory.others.push_back({device.id(), *total, std::nullopt, false});
  }
  return memory;
}

ModelFit fit_copies(std::span<const TensorInfo> tensors, const ModelSummary& summary,
                    std::uint64_t context, std::span<const FitDevice> devices) {
  ModelFit all;
  for (const FitDevice& device : devices) {
    ModelFit one = fit_model(tensors, summary, context, std::span(&device, 1));
    if (!one.is_held) return one;
    std::vector<FitPart> parts = std::move(all.parts);
    parts.push_back(one.parts.front());
    const auto most_context = all.most_context;
    all = std::move(one);
    if (most_context && all.most_context) {
      all.most_context = std::min(*most_context, *all.most_context);
    }
    all.parts = std::move(parts);
  }
  return all;
}

LoadPlan plan_of_fit(const ModelFile& model, const ModelSummary& summary, const ModelFit& fit,
                     std::span<const Device> devices) {
  // The fit's order of computation; its parts are runs of that.
  const auto tensors = model.tensors();
  std::vector<std::uint64_t> places;
  for (const TensorInfo& tensor : tensors) {
    places.push_back(place_of(tensor.name, summary.layers.value_or(0)));
  }
  std::vector<std::uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t left, std::uint32_t right) {
    return places[left] < places[right];
  });
  LoadPlan plan;
  plan.split = SplitKind::layer;
  auto begin = order.begin();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto end = begin + static_cast<std::ptrdiff_t>(fit.parts[i].tensors);
    std::sort(begin, end);  // files are read from front to back
    plan.devices.push_back({devices[i], lay_out(model, std::span(begin, end))});
    begin = end;
  }
  return plan;
}

Error does_not_fit(const ModelFit& fit, const std::vector<FitDevice>& chosen) {
  return Error(
      ErrorCode::out_of_memory, "plan load",
      fmt::format("the model needs {} for its weights, {} for the KV cache of {} tokens "
                  "and a margin on {}: {} too little",
                  format_size(fit.weights_bytes), format_size(fit.kv_cache_bytes),
                  format_count(fit.context), place_text(chosen), format_size(fit.shortfall_bytes)),
      hint_of(fit));
}

}  // namespace hiptool::cli
