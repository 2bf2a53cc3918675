// SPDX-License-Identifier: MIT
#include "load/place/place.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "base/units.hpp"
#include "hiptool/error.hpp"
#include "load/place/partition.hpp"

namespace hiptool::load {
namespace {

constexpr const char* last_hint =
    "free memory on the device, or choose a larger one or a smaller model";

std::string joined(const std::vector<std::string>& texts, const char* separator) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : separator) + text;
  return all;
}

std::string joined_ids(std::span<const DeviceMemory> devices, const char* separator) {
  std::vector<std::string> ids;
  for (const DeviceMemory& device : devices) ids.push_back(device.id);
  return joined(ids, separator);
}

std::string too_little_text(const std::string& ids, std::uint64_t free_bytes,
                            std::uint64_t total_bytes, std::uint64_t shortfall_bytes) {
  return " on " + ids + ", where " + format_size(free_bytes) + " of " + format_size(total_bytes) +
         " are free: " + format_size(shortfall_bytes) + " too little";
}

// A split by bytes that holds the model, as words for a hint; empty if there is none.
std::string find_split(const ModelFile& model, std::span<const DeviceMemory> memory) {
  if (memory.size() < 2) return {};
  const auto groups = group_by_tensor(model.tensors()).groups;
  const auto most = most_bytes(memory);
  const auto runs = cut_evenly(groups, most);
  if (runs.back().size_bytes() > most.back()) return {};
  // Whole percents that lead to about the same cuts; devices with little still get one.
  const auto whole = static_cast<double>(std::max<std::uint64_t>(model.tensor_bytes(), 1));
  std::vector<std::string> percents;
  for (const TensorGroup& run : runs) {
    const double share = static_cast<double>(run.tensor_bytes) / whole;
    percents.push_back(std::to_string(std::max(1L, std::lround(100 * share))));
  }
  return "split it: --device " + joined_ids(memory, ",") + " --split bytes (about " +
         joined(percents, ",") + ") holds it; or ";
}

// A copy on each device: the fit of the first one that does not hold it, else of all.
ModelFit fit_copies(std::span<const TensorInfo> tensors, const ModelSummary& summary,
                    const CacheNeed& cache, std::span<const DeviceMemory> devices) {
  ModelFit all;
  std::vector<FitPart> parts;
  for (const DeviceMemory& device : devices) {
    ModelFit one =
        fit_model(tensors, summary, cache.context_tokens, std::span(&device, 1), {}, cache.options);
    if (!one.is_held) return one;
    if (!parts.empty() && one.max_context_tokens) {
      one.max_context_tokens = std::min(*one.max_context_tokens, *all.max_context_tokens);
      one.memory_context_tokens = std::min(*one.memory_context_tokens, *all.memory_context_tokens);
    }
    parts.push_back(one.parts.front());
    all = std::move(one);
  }
  all.parts = std::move(parts);
  return all;
}

// The runs of the fit, so that each layer is where memory for its cache was counted.
LoadPlan plan_of_fit(const ModelFile& model, const ModelSummary& summary, const ModelFit& fit,
                     std::span<const Device> devices) {
  std::vector<std::uint64_t> tensor_counts;
  for (const FitPart& part : fit.parts) tensor_counts.push_back(part.tensors);
  const std::vector<LayerBytes> layers(summary.kv_heads.size());
  auto order = group_with_cache(model.tensors(), layers).order;
  return {divide(model, devices, std::move(order), tensor_counts), SplitKind::layer, {}};
}

std::string shortfall_text(const ModelFit& fit, std::span<const DeviceMemory> devices) {
  std::uint64_t total = 0;
  std::uint64_t free = 0;
  for (const DeviceMemory& device : devices) {
    total += device.total_bytes;
    free += available_bytes(device);
  }
  const std::string sequences =
      fit.kv_cache.sequences == 1
          ? ""
          : " for each of " + format_count(fit.kv_cache.sequences) + " sequences";
  return "the model needs " + format_size(fit.weights_bytes) + " for its weights, " +
         (fit.kv_cache_is_bound ? "at least " : "") + format_size(fit.kv_cache_least_bytes) +
         " for the KV cache of " + base::count_of(fit.context_tokens, "token") + sequences +
         (fit.state_bytes > 0 ? ", " + format_size(fit.state_bytes) + " for recurrent states"
                              : "") +
         (fit.compute_bytes ? ", " + format_size(*fit.compute_bytes) + " for compute buffers"
                            : "") +
         " and a margin" +
         too_little_text(joined_ids(devices, ", "), free, total, fit.shortfall_bytes);
}

std::string hint_for(const ModelFit& fit) {
  std::vector<std::string> ways;
  if (fit.verdict == FitVerdict::split) {
    std::vector<std::string> ids;
    std::vector<std::string> shares;
    for (const FitPart& part : fit.parts) ids.push_back(part.device.id);
    for (const double share : fit.split) shares.push_back(format_share(share));
    ways.push_back("split it over " + joined(ids, ",") + " (" + joined(shares, ", ") +
                   "), which holds it");
  }
  if (fit.max_context_tokens.value_or(0) > 0) {
    ways.push_back("reduce --context to " + std::to_string(*fit.max_context_tokens));
  }
  if (fit.gpu_layers.value_or(0) > 0) {
    ways.push_back("keep some layers on the CPU (llama.cpp: -ngl " +
                   std::to_string(*fit.gpu_layers) + ")");
  }
  ways.emplace_back(last_hint);
  return joined(ways, "; or ");
}

}  // namespace

std::string shortfall_text(const LoadPlan& plan, std::span<const DeviceMemory> memory) {
  // The devices in host memory have equal parts of its free bytes, but the arenas differ in size.
  std::uint64_t free_in_host = 0;
  for (const DeviceMemory& device : memory) {
    if (device.is_host_memory) free_in_host += available_bytes(device);
  }
  std::string text;
  for (std::size_t i = 0; i < plan.devices.size(); ++i) {
    const DeviceMemory& device = memory[i];
    const std::uint64_t arena = plan.devices[i].layout.arena_bytes;
    const std::uint64_t needed = needed_bytes(arena, device.is_host_memory);
    const std::uint64_t free = device.is_host_memory ? free_in_host : available_bytes(device);
    if (device.is_host_memory) free_in_host -= std::min(free_in_host, needed);
    if (needed <= free) continue;
    const std::uint64_t margin = margin_bytes(arena, device.is_host_memory);
    text += (text.empty() ? "the model needs " : "; and ") + format_size(arena) +
            " and a margin of " + format_size(margin) +
            too_little_text(device.id, free, device.total_bytes, needed - free);
  }
  return text;
}

std::string hint_for(const ModelFile& model, std::span<const DeviceMemory> memory,
                     std::span<const DeviceMemory> others) {
  std::string split = find_split(model, memory);
  if (split.empty() && !others.empty()) {
    std::vector<DeviceMemory> devices(memory.begin(), memory.end());
    devices.insert(devices.end(), others.begin(), others.end());
    split = find_split(model, devices);
  }
  return split + last_hint;
}

void check_fit_with_cache(const ModelFile& model, const ModelSummary& summary, SplitKind split,
                          const CacheNeed& cache, const FitMemory& memory,
                          std::optional<ModelFit>& fit) {
  const auto tensors = model.tensors();
  const bool is_copy = split == SplitKind::replicate;
  fit = is_copy ? fit_copies(tensors, summary, cache, memory.chosen)
                : fit_model(tensors, summary, cache.context_tokens, memory.chosen, memory.others,
                            cache.options);
  if (fit->is_held) return;
  const auto devices = is_copy ? std::span<const DeviceMemory>(&fit->parts.front().device, 1)
                               : std::span<const DeviceMemory>(memory.chosen);
  throw Error(ErrorCode::out_of_memory, "plan load", shortfall_text(*fit, devices), hint_for(*fit));
}

void place_model(const ModelFile& model, std::span<const Device> devices, const LoadSplit& split,
                 const CacheNeed& cache, std::optional<LoadPlan>& plan,
                 std::optional<ModelFit>& fit) {
  const std::vector<DeviceMemory> memory = read_memory(devices);
  plan = plan_load(model, devices, split, memory);
  if (cache.context_tokens == 0) {
    const std::string shortfall = shortfall_text(*plan, memory);
    if (shortfall.empty()) return;
    throw Error(ErrorCode::out_of_memory, "plan load", shortfall,
                hint_for(model, memory, read_other_memory(devices)));
  }
  const ModelSummary summary = summarize(model);
  check_fit_with_cache(model, summary, split.kind, cache, {memory, read_other_memory(devices)},
                       fit);
  if (devices.size() > 1 && split.kind != SplitKind::replicate) {
    plan = plan_of_fit(model, summary, *fit, devices);
  }
}

}  // namespace hiptool::load
