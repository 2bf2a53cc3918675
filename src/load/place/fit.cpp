// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <utility>

#include "hiptool/error.hpp"
#include "load/place/kv_cache.hpp"
#include "load/place/memory.hpp"
#include "load/place/partition.hpp"
#include "load/place/search.hpp"

namespace hiptool {
namespace {

using load::TensorGroup;
using Memory = std::span<const DeviceMemory>;

bool is_output_matrix(std::string_view name) {
  return name == "output.weight" || name.ends_with("lm_head.weight");
}

bool is_embedding(std::string_view name) {
  return name == "token_embd.weight" || name.ends_with("embed_tokens.weight") ||
         name.ends_with("wte.weight");
}

bool fits(std::span<const TensorGroup> groups, Memory devices) {
  return load::fill(groups, devices).back().size_bytes() == 0;
}

// The groups as a GPU needs them for -ngl: embeddings that are the output too are there twice.
std::vector<TensorGroup> groups_on_gpu(std::span<const TensorInfo> tensors,
                                       std::vector<TensorGroup> groups) {
  TensorGroup embeddings;
  for (const TensorInfo& tensor : tensors) {
    if (is_output_matrix(tensor.name)) return groups;
    if (is_embedding(tensor.name)) embeddings += load::group_of(tensor);
  }
  groups.back() += embeddings;
  return groups;
}

// What is left of each device's memory beside the compute buffers.
std::vector<DeviceMemory> without_compute(const ModelFit& fit, Memory devices) {
  std::vector<DeviceMemory> left(devices.begin(), devices.end());
  for (DeviceMemory& device : left) {
    const std::uint64_t available = load::available_bytes(device);
    device.free_bytes = available - std::min(available, fit.compute_bytes.value_or(0));
  }
  return left;
}

void set_parts(ModelFit& fit, Memory devices, std::span<const TensorGroup> runs) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const TensorGroup& run = runs[i];
    fit.parts.push_back({devices[i], run.tensors, run.tensor_bytes, run.weights_bytes,
                         run.kv_cache_bytes,
                         load::margin_bytes(run.size_bytes(), devices[i].is_host_memory),
                         run.size_bytes() == 0 ? 0 : fit.compute_bytes.value_or(0)});
  }
}

void set_split(ModelFit& fit, Memory devices, std::span<const TensorGroup> groups) {
  fit.verdict = FitVerdict::split;
  set_parts(fit, devices, load::cut_to_equal_shares(groups, without_compute(fit, devices)));
  const auto whole = static_cast<double>(fit.weights_bytes + fit.kv_cache_bytes);
  fit.margin_bytes = 0;
  std::uint64_t compute_bytes = 0;
  for (const FitPart& part : fit.parts) {
    const auto bytes = static_cast<double>(part.weights_bytes + part.kv_cache_bytes);
    fit.split.push_back(whole > 0 ? bytes / whole : 0);
    fit.margin_bytes += part.margin_bytes;
    compute_bytes += part.compute_bytes;
  }
  fit.total_bytes = fit.weights_bytes + fit.kv_cache_bytes + compute_bytes + fit.margin_bytes;
}

// In whole steps, as the cache is allocated; the compute buffer grows with the context too.
std::optional<std::uint64_t> longest_context(const ModelSummary& summary, KvType type,
                                             std::uint64_t weights_bytes,
                                             const DeviceMemory& device) {
  constexpr std::uint64_t most_steps = (std::uint64_t{1} << 30) / load::cell_step_tokens;
  const std::uint64_t step_bytes = kv_cache_bytes(summary, 1, type);
  if (step_bytes == 0) return std::nullopt;
  const std::uint64_t steps = load::largest(most_steps, [&](std::uint64_t count) {
    if (count > load::most_cache_bytes / step_bytes) return false;
    ModelFit fit;
    fit.compute_bytes = compute_buffer_bytes(summary, count * load::cell_step_tokens);
    const std::uint64_t most =
        load::most_bytes(without_compute(fit, std::span(&device, 1)).front());
    return weights_bytes <= most && count * step_bytes <= most - weights_bytes;
  });
  return steps * load::cell_step_tokens;
}

void set_longest_context(ModelFit& fit, const ModelSummary& summary, const DeviceMemory& device) {
  fit.memory_context_tokens = longest_context(summary, fit.kv_type, fit.weights_bytes, device);
  fit.max_context_tokens = fit.memory_context_tokens;
  const std::uint64_t trained = summary.context_length.value_or(0);
  if (fit.max_context_tokens && trained > 0) {
    fit.max_context_tokens = std::min(*fit.max_context_tokens, trained);
  }
}

// The devices do not hold all groups: others may, or some layers fit.
void set_part_of_model(ModelFit& fit, std::span<const TensorInfo> tensors,
                       std::span<const TensorGroup> groups, Memory chosen, Memory others) {
  const auto on_gpu = groups_on_gpu(tensors, {groups.begin(), groups.end()});
  // The output and the layers before it, but not the tensors before the layers.
  const auto last = [&](std::uint64_t count) { return std::span(on_gpu).last(count); };
  const auto is_host = [](const DeviceMemory& device) { return device.is_host_memory; };
  if (std::none_of(chosen.begin(), chosen.end(), is_host)) {
    fit.gpu_layers = load::largest(on_gpu.size() - 1, [&](std::uint64_t count) {
      return fits(last(count), without_compute(fit, chosen));
    });
  }
  std::vector<DeviceMemory> devices(chosen.begin(), chosen.end());
  devices.insert(devices.end(), others.begin(), others.end());
  if (fits(groups, without_compute(fit, devices))) {
    set_split(fit, devices, groups);
    return;
  }
  const std::uint64_t held = fit.gpu_layers.value_or(0);
  fit.verdict = held > 0 ? FitVerdict::gpu_layers : FitVerdict::does_not_fit;
  if (held == 0 && chosen.size() == 1) {
    TensorGroup whole;
    for (const TensorGroup& group : groups) whole += group;
    set_parts(fit, chosen, std::span(&whole, 1));
    return;
  }
  set_parts(fit, chosen, load::fill(last(held), without_compute(fit, chosen)));
}

}  // namespace

std::string_view to_string(FitVerdict verdict) noexcept {
  switch (verdict) {
    case FitVerdict::fits: return "fits";
    case FitVerdict::split: return "split";
    case FitVerdict::gpu_layers: return "gpu_layers";
    case FitVerdict::does_not_fit: break;
  }
  return "does not fit";
}

ModelFit fit_model(std::span<const TensorInfo> tensors, const ModelSummary& summary,
                   std::uint64_t context_tokens, std::span<const DeviceMemory> chosen,
                   std::span<const DeviceMemory> others, KvType type) {
  if (chosen.empty()) {
    throw Error(ErrorCode::invalid_argument, "fit model", "no device was chosen");
  }
  ModelFit fit;
  fit.context_tokens = context_tokens;
  fit.kv_type = type;
  fit.kv_cache_bytes = kv_cache_bytes(summary, context_tokens, type);
  fit.compute_bytes = compute_buffer_bytes(summary, context_tokens);
  const std::uint64_t compute_bytes = fit.compute_bytes.value_or(0);
  const auto layer_caches = load::layer_cache_bytes(summary, context_tokens, type);
  const auto groups = load::group_with_cache(tensors, layer_caches).groups;
  for (const TensorGroup& group : groups) fit.weights_bytes += group.weights_bytes;
  const DeviceMemory& first = chosen.front();
  fit.margin_bytes =
      load::margin_bytes(fit.weights_bytes + fit.kv_cache_bytes, first.is_host_memory);
  fit.total_bytes = fit.weights_bytes + fit.kv_cache_bytes + compute_bytes + fit.margin_bytes;
  if (chosen.size() == 1) set_longest_context(fit, summary, first);
  const auto runs = load::fill(groups, without_compute(fit, chosen));
  fit.is_held = runs.back().size_bytes() == 0;
  if (!fit.is_held) {
    std::uint64_t available = 0;
    for (const DeviceMemory& device : chosen) available += load::available_bytes(device);
    const std::uint64_t needed = fit.total_bytes + (chosen.size() - 1) * compute_bytes;
    // Enough in sum may still not be enough for whole layers.
    fit.shortfall_bytes = needed > available ? needed - available : runs.back().size_bytes();
    set_part_of_model(fit, tensors, groups, chosen, others);
  } else if (chosen.size() == 1) {
    fit.verdict = FitVerdict::fits;
    set_parts(fit, chosen, runs);
  } else {
    set_split(fit, chosen, groups);
  }
  return fit;
}

}  // namespace hiptool
