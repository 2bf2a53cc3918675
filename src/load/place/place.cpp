// SPDX-License-Identifier: MIT
#include "load/place/place.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <string_view>

#include "core/platform_state.hpp"
#include "hiptool/error.hpp"
#include "hiptool/units.hpp"
#include "load/place/layer_name.hpp"
#include "system/host.hpp"
#include "system/pci.hpp"
#include "system/vram.hpp"

namespace hiptool::load {
namespace {

constexpr std::uint64_t least_vram_bytes = std::uint64_t{4} << 30;
// Each changes which device the runtime calls the first.
constexpr std::array hiding_variables{"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                      "GPU_DEVICE_ORDINAL", "CUDA_VISIBLE_DEVICES"};

bool is_only_cpu(std::optional<Platform> platform, std::span<const std::string> ids) {
  if (platform && *platform != Platform::cpu) return false;
  if (ids.empty()) return platform.has_value();
  return std::all_of(ids.begin(), ids.end(), [&](const std::string& id) {
    return id == "cpu" || id == "cpu:0" || (id == "all" && platform);
  });
}

std::optional<FitMemory> read_host_memory(const std::string& root) {
  const std::uint64_t total = system::read_host(root).memory_bytes;
  if (total == 0) return std::nullopt;
  return FitMemory{{{"cpu:0", total, system::available_memory_bytes(root), true}}, {}};
}

// The GPUs that the runtime would count, in its order; none if files do not tell.
std::vector<FitDevice> read_amd_devices(const std::string& root, const GetEnvironment& getenv,
                                        const std::vector<system::PciDevice>& gpus) {
  for (const char* name : hiding_variables) {
    if (getenv(name)) return {};
  }
  const std::vector<system::Vram> memories = system::read_vram(root);
  if (memories.size() != gpus.size()) return {};
  std::vector<FitDevice> devices;
  for (const system::Vram& memory : memories) {
    if (memory.total_bytes < least_vram_bytes) return {};
    std::optional<std::uint64_t> free_bytes;
    if (memory.used_bytes) {
      free_bytes = memory.total_bytes - std::min(memory.total_bytes, *memory.used_bytes);
    }
    devices.push_back({"amd:" + std::to_string(devices.size()), memory.total_bytes, free_bytes});
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

std::string joined(const std::vector<std::string>& texts, const char* separator) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : separator) + text;
  return all;
}

std::string free_memory_text(std::span<const FitDevice> devices) {
  std::vector<std::string> ids;
  std::uint64_t total = 0;
  std::uint64_t free = 0;
  for (const FitDevice& device : devices) {
    ids.push_back(device.id);
    total += device.memory_total_bytes;
    free += device.memory_free_bytes.value_or(device.memory_total_bytes);
  }
  return joined(ids, ", ") + ", where " + format_size(free) + " of " + format_size(total) +
         " are free";
}

std::string hint_of(const ModelFit& fit) {
  std::vector<std::string> ways;
  if (fit.verdict == FitVerdict::split) {
    std::vector<std::string> ids;
    std::vector<std::string> shares;
    for (const FitPart& part : fit.parts) ids.push_back(part.device.id);
    for (const double share : fit.split) shares.push_back(format_share(share));
    ways.push_back("split it over " + joined(ids, ",") + " (" + joined(shares, ", ") +
                   "), which holds it");
  }
  if (fit.most_context.value_or(0) > 0) {
    ways.push_back("take --context " + std::to_string(*fit.most_context) + " at most");
  }
  if (fit.gpu_layers.value_or(0) > 0) {
    ways.push_back("leave layers to the processor (llama.cpp: -ngl " +
                   std::to_string(*fit.gpu_layers) + ")");
  }
  ways.emplace_back("free memory on the device, or choose a larger one or a smaller model");
  return joined(ways, "; or ");
}

// Before the layers, each layer, behind them, as fit_model sorts them.
std::uint64_t section_of(std::string_view tensor, std::uint64_t layers) {
  const LayerName name = read_layer_name(tensor);
  if (name.section == Section::behind_layers) return layers + 1;
  const bool is_layer = name.section == Section::layer && name.layer < layers;
  return is_layer ? name.layer + 1 : 0;
}

// fit_model for a copy on each device: that of the first one that does not hold it, else of all.
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

// The load that a split of fit_model describes, so that each layer is where memory for its cache
// was counted. The devices are those of the fit's parts, in that order.
LoadPlan plan_of_fit(const ModelFile& model, const ModelSummary& summary, const ModelFit& fit,
                     std::span<const Device> devices) {
  // The fit's order of computation; its parts are runs of that.
  const auto tensors = model.tensors();
  std::vector<std::uint64_t> places;
  for (const TensorInfo& tensor : tensors) {
    places.push_back(section_of(tensor.name, summary.layers.value_or(0)));
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

Error shortfall_error(const ModelFit& fit, std::span<const FitDevice> chosen) {
  return Error(ErrorCode::out_of_memory, "plan load",
               "the model needs " + format_size(fit.weights_bytes) + " for its weights, " +
                   format_size(fit.kv_cache_bytes) + " for the KV cache of " +
                   format_count(fit.context) + " tokens and a margin on " +
                   free_memory_text(chosen) + ": " + format_size(fit.shortfall_bytes) +
                   " too little",
               hint_of(fit));
}

// A Device needs its platform's state, which another Device keeps alive.
std::vector<Device> devices_of_platform(const Device& device) {
  const auto owner = std::make_shared<const Device>(device);
  const std::shared_ptr<const core::PlatformState> state(owner, &owner->state());
  std::vector<Device> devices;
  for (int i = 0; i < state->device_count; ++i) devices.emplace_back(state, i);
  return devices;
}

}  // namespace

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
  const bool all_amd = std::all_of(gpus.begin(), gpus.end(), [](const system::PciDevice& gpu) {
    return gpu.vendor == system::vendor_amd && gpu.driver == "amdgpu";
  });
  if (!all_amd || platform.value_or(Platform::amd) != Platform::amd) return std::nullopt;
  const std::vector<FitDevice> devices = read_amd_devices(system_root, getenv, gpus);
  if (devices.empty()) return std::nullopt;
  return choose(devices, {ids.begin(), ids.end()});
}

FitMemory read_fit_memory(std::span<const Device> devices) {
  FitMemory memory;
  const std::vector<MemoryInfo> infos = read_memory(devices);
  bool in_host = false;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const bool is_host = devices[i].is_host_memory();
    in_host = in_host || is_host;
    memory.chosen.push_back({devices[i].id(), infos[i].total_bytes, infos[i].free_bytes, is_host});
  }
  if (in_host) return memory;
  for (const Device& device : devices_of_platform(devices.front())) {
    if (std::find(devices.begin(), devices.end(), device) != devices.end()) continue;
    const auto total = device.info().memory_total_bytes;
    if (total) memory.others.push_back({device.id(), *total, std::nullopt, false});
  }
  return memory;
}

void check_fit_with_cache(const ModelFile& model, const ModelSummary& summary, SplitKind split,
                          std::uint64_t context_tokens, const FitMemory& memory,
                          std::optional<ModelFit>& fit) {
  const auto tensors = model.tensors();
  const bool is_copy = split == SplitKind::replicate;
  fit = is_copy ? fit_copies(tensors, summary, context_tokens, memory.chosen)
                : fit_model(tensors, summary, context_tokens, memory.chosen, memory.others);
  if (fit->is_held) return;
  throw shortfall_error(
      *fit, is_copy ? std::span(&fit->parts.front().device, 1) : std::span(memory.chosen));
}

void place_model(const ModelFile& model, std::span<const Device> devices, const LoadSplit& split,
                 std::uint64_t context_tokens, std::optional<LoadPlan>& plan,
                 std::optional<ModelFit>& fit) {
  if (context_tokens == 0) {
    plan = plan_load(model, devices, split, read_memory(devices));
    check_fit(model, *plan, devices_of_platform(devices.front()));
    return;
  }
  const ModelSummary summary = summarize(model);
  const FitMemory memory = read_fit_memory(devices);
  std::vector<MemoryInfo> infos;
  for (const FitDevice& device : memory.chosen) {
    infos.push_back({*device.memory_free_bytes, device.memory_total_bytes});
  }
  plan = plan_load(model, devices, split, infos);
  check_fit_with_cache(model, summary, split.kind, context_tokens, memory, fit);
  if (devices.size() > 1 && split.kind != SplitKind::replicate) {
    plan = plan_of_fit(model, summary, *fit, devices);
  }
}

}  // namespace hiptool::load
