// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>

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

// Without compute buffers and margin.
std::uint64_t held_bytes(const ModelFit& fit) {
  return fit.weights_bytes + fit.kv_cache_bytes + fit.state_bytes;
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

// What is left of each device's memory besides the compute buffers.
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
                         run.kv_cache_bytes, run.state_bytes,
                         load::margin_bytes(run.size_bytes(), devices[i].is_host_memory),
                         run.size_bytes() == 0 ? 0 : fit.compute_bytes.value_or(0)});
  }
}

void set_split(ModelFit& fit, Memory devices, std::span<const TensorGroup> groups) {
  fit.verdict = FitVerdict::split;
  set_parts(fit, devices, load::cut_to_equal_shares(groups, without_compute(fit, devices)));
  const auto whole = static_cast<double>(held_bytes(fit));
  fit.margin_bytes = 0;
  std::uint64_t compute_bytes = 0;
  for (const FitPart& part : fit.parts) {
    const auto bytes =
        static_cast<double>(part.weights_bytes + part.kv_cache_bytes + part.state_bytes);
    fit.split.push_back(whole > 0 ? bytes / whole : 0);
    fit.margin_bytes += part.margin_bytes;
    compute_bytes += part.compute_bytes;
  }
  fit.total_bytes = held_bytes(fit) + compute_bytes + fit.margin_bytes;
}

// In whole steps, as the cache is allocated; the compute buffer grows with the context too.
std::optional<std::uint64_t> longest_context(const ModelSummary& summary, const ModelFit& fit,
                                             const DeviceMemory& device) {
  constexpr std::uint64_t most_tokens = std::uint64_t{1} << 30;
  const auto cache = [&](std::uint64_t tokens) {
    return load::whole_cache_bytes(summary, tokens, fit.kv_cache);
  };
  if (cache(1) == cache(most_tokens)) return std::nullopt;
  const auto most_steps = most_tokens / load::cell_step_tokens;
  const std::uint64_t steps = load::largest(most_steps, [&](std::uint64_t count) {
    const auto cache_bytes = cache(count * load::cell_step_tokens);
    if (!cache_bytes) return false;
    ModelFit longer;
    longer.compute_bytes = compute_buffer_bytes(summary, count * load::cell_step_tokens);
    const std::uint64_t most =
        load::most_bytes(without_compute(longer, std::span(&device, 1)).front());
    return fit.weights_bytes <= most && *cache_bytes <= most - fit.weights_bytes;
  });
  return steps * load::cell_step_tokens;
}

void set_longest_context(ModelFit& fit, const ModelSummary& summary, const DeviceMemory& device) {
  fit.memory_context_tokens = longest_context(summary, fit, device);
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
  if (std::ranges::none_of(chosen, is_host)) {
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

/// The model with the most or the least cache that it may need.
class FitTrial {
 public:
  FitTrial(std::span<const TensorInfo> tensors, const ModelSummary& summary, Memory chosen,
           Memory others)
      : tensors_(tensors), summary_(summary), chosen_(chosen), others_(others) {}

  ModelFit run(std::uint64_t context_tokens, const KvCacheOptions& options, bool least) const {
    ModelFit fit;
    fit.context_tokens = context_tokens;
    fit.kv_cache = options;
    fit.kv_cache_is_bound = summary_.cache_is_bound;
    fit.kv_cache_least_bytes = kv_cache_least_bytes(summary_, context_tokens, options);
    fit.kv_cache_bytes =
        least ? fit.kv_cache_least_bytes : kv_cache_bytes(summary_, context_tokens, options);
    fit.state_bytes = recurrent_state_bytes(summary_, options.sequences);
    set_compute_buffers(fit);
    const auto layers = load::layer_cache_bytes(summary_, context_tokens, options, least);
    const auto groups = load::group_with_cache(tensors_, layers).groups;
    for (const TensorGroup& group : groups) fit.weights_bytes += group.weights_bytes;
    fit.margin_bytes = load::margin_bytes(held_bytes(fit), chosen_.front().is_host_memory);
    fit.total_bytes = held_bytes(fit) + fit.compute_bytes.value_or(0) + fit.margin_bytes;
    fit.least_total_bytes = fit.total_bytes;
    if (chosen_.size() == 1 && !summary_.cache_is_bound) {
      set_longest_context(fit, summary_, chosen_.front());
    }
    place(fit, groups);
    return fit;
  }

 private:
  void set_compute_buffers(ModelFit& fit) const {
    ComputeBufferOptions options;
    options.sequences = fit.kv_cache.sequences;
    fit.compute_bytes = compute_buffer_bytes(summary_, fit.context_tokens, options);
    options.reserve = GraphReserve::server;
    fit.compute_least_bytes = compute_buffer_bytes(summary_, fit.context_tokens, options);
  }

  void place(ModelFit& fit, std::span<const TensorGroup> groups) const {
    const auto runs = load::fill(groups, without_compute(fit, chosen_));
    fit.is_held = runs.back().size_bytes() == 0;
    if (!fit.is_held) {
      std::uint64_t available = 0;
      for (const DeviceMemory& device : chosen_) available += load::available_bytes(device);
      const std::uint64_t needed =
          fit.total_bytes + (chosen_.size() - 1) * fit.compute_bytes.value_or(0);
      // Enough in sum may still not be enough for whole layers.
      fit.shortfall_bytes = needed > available ? needed - available : runs.back().size_bytes();
      set_part_of_model(fit, tensors_, groups, chosen_, others_);
    } else if (chosen_.size() == 1) {
      fit.verdict = FitVerdict::fits;
      set_parts(fit, chosen_, runs);
    } else {
      set_split(fit, chosen_, groups);
    }
  }

  std::span<const TensorInfo> tensors_;
  const ModelSummary& summary_;
  Memory chosen_;
  Memory others_;
};

}  // namespace

std::string_view to_string(FitVerdict verdict) noexcept {
  switch (verdict) {
    case FitVerdict::fits: return "fits";
    case FitVerdict::split: return "split";
    case FitVerdict::gpu_layers: return "gpu_layers";
    case FitVerdict::may_not_fit: return "may not fit";
    case FitVerdict::does_not_fit: break;
  }
  return "does not fit";
}

ModelFit fit_model(std::span<const TensorInfo> tensors, const ModelSummary& summary,
                   std::uint64_t context_tokens, std::span<const DeviceMemory> chosen,
                   std::span<const DeviceMemory> others, const KvCacheOptions& options) {
  if (chosen.empty()) {
    throw Error(ErrorCode::invalid_argument, "fit model", "no device was chosen");
  }
  const FitTrial trial(tensors, summary, chosen, others);
  ModelFit most = trial.run(context_tokens, options, false);
  if (!summary.cache_is_bound) return most;
  ModelFit least = trial.run(context_tokens, options, true);
  most.least_total_bytes = least.total_bytes;
  if (most.is_held) return most;
  // Refused, split and advised for the least alone: the rest is not certain.
  least.kv_cache_bytes = most.kv_cache_bytes;
  least.total_bytes = most.total_bytes;
  if (least.is_held) least.verdict = FitVerdict::may_not_fit;
  return least;
}

}  // namespace hiptool
