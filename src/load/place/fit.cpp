// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <utility>

#include "hiptool/error.hpp"
#include "load/place/memory.hpp"
#include "load/place/partition.hpp"
#include "load/place/search.hpp"

namespace hiptool {
namespace {

using load::TensorGroup;
using Memory = std::span<const DeviceMemory>;

constexpr std::uint64_t cache_element_bytes = 2;  // f16, llama.cpp's default for keys and values

// More than any machine has, and small enough for sums with weights and margins.
constexpr std::uint64_t most_cache_bytes = std::uint64_t{1} << 62;

// Of layers with so many heads of keys and values.
std::uint64_t cache_bytes(const ModelSummary& summary, std::uint64_t heads,
                          std::uint64_t context_tokens) {
  if (heads == 0) return 0;
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
  const bool overflows =
      __builtin_add_overflow(*summary.key_length, *summary.value_length, &elements) ||
      __builtin_mul_overflow(context_tokens, heads, &bytes) ||
      __builtin_mul_overflow(bytes, elements, &bytes) ||
      __builtin_mul_overflow(bytes, cache_element_bytes, &bytes);
  if (!overflows && bytes <= most_cache_bytes) return bytes;
  throw Error(ErrorCode::corrupt_data, "size the KV cache",
              "the metadata implies a KV cache of more than 2^62 bytes",
              "choose a smaller --context, or check the metadata of the model");
}

// A summary that was not made by summarize() may be anything.
void check_shape(const ModelSummary& summary, std::uint64_t heads) {
  const bool has_lengths = summary.key_length && summary.value_length;
  if (summary.layers == summary.kv_heads.size() && (has_lengths || heads == 0)) return;
  throw Error(ErrorCode::invalid_argument, "size the KV cache",
              "the summary of the model contradicts itself");
}

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

void set_parts(ModelFit& fit, Memory devices, std::span<const TensorGroup> runs) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const TensorGroup& run = runs[i];
    fit.parts.push_back({devices[i], run.tensors, run.tensor_bytes, run.weights_bytes,
                         run.kv_cache_bytes,
                         load::margin_bytes(run.size_bytes(), devices[i].is_host_memory)});
  }
}

void set_split(ModelFit& fit, Memory devices, std::span<const TensorGroup> groups) {
  fit.verdict = FitVerdict::split;
  set_parts(fit, devices, load::cut_to_equal_shares(groups, devices));
  const auto whole = static_cast<double>(fit.weights_bytes + fit.kv_cache_bytes);
  fit.margin_bytes = 0;
  for (const FitPart& part : fit.parts) {
    const auto bytes = static_cast<double>(part.weights_bytes + part.kv_cache_bytes);
    fit.split.push_back(whole > 0 ? bytes / whole : 0);
    fit.margin_bytes += part.margin_bytes;
  }
  fit.total_bytes = fit.weights_bytes + fit.kv_cache_bytes + fit.margin_bytes;
}

std::optional<std::uint64_t> max_context(const ModelSummary& summary, std::uint64_t weights_bytes,
                                         const DeviceMemory& device) {
  constexpr std::uint64_t most_tokens = std::uint64_t{1} << 30;
  const std::uint64_t token_bytes = kv_cache_bytes(summary, 1);
  if (token_bytes == 0) return std::nullopt;
  const std::uint64_t most_bytes = load::most_bytes(device);
  const std::uint64_t left_bytes = most_bytes - std::min(most_bytes, weights_bytes);
  return std::min(most_tokens, std::min(left_bytes, most_cache_bytes) / token_bytes);
}

// The devices do not hold all groups: others may, or some layers fit.
void set_part_of_model(ModelFit& fit, std::span<const TensorInfo> tensors,
                       std::span<const TensorGroup> groups, Memory chosen, Memory others) {
  const auto on_gpu = groups_on_gpu(tensors, {groups.begin(), groups.end()});
  // The output and the layers before it, but not the tensors before the layers.
  const auto last = [&](std::uint64_t count) { return std::span(on_gpu).last(count); };
  const auto is_host = [](const DeviceMemory& device) { return device.is_host_memory; };
  if (std::none_of(chosen.begin(), chosen.end(), is_host)) {
    fit.gpu_layers = load::largest(on_gpu.size() - 1,
                                   [&](std::uint64_t count) { return fits(last(count), chosen); });
  }
  std::vector<DeviceMemory> devices(chosen.begin(), chosen.end());
  devices.insert(devices.end(), others.begin(), others.end());
  if (fits(groups, devices)) {
    set_split(fit, devices, groups);
    return;
  }
  const std::uint64_t held = fit.gpu_layers.value_or(0);
  fit.verdict = held > 0 ? FitVerdict::gpu_layers : FitVerdict::does_not_fit;
  set_parts(fit, chosen, load::fill(last(held), chosen));
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

std::uint64_t kv_cache_bytes(const ModelSummary& summary, std::uint64_t context_tokens) {
  if (!summary.missing_keys.empty()) {
    std::string names;
    for (const std::string& key : summary.missing_keys) {
      names.append(names.empty() ? "" : ", ").append(key);
    }
    throw Error(ErrorCode::not_found, "size the KV cache",
                "the KV cache cannot be sized: " + names +
                    (summary.missing_keys.size() == 1 ? " is" : " are") +
                    " missing from the metadata",
                "leave out --context to plan the weights alone");
  }
  std::uint64_t heads = 0;
  for (const std::uint64_t of_layer : summary.kv_heads) {
    if (__builtin_add_overflow(heads, of_layer, &heads)) heads = UINT64_MAX;
  }
  check_shape(summary, heads);
  return cache_bytes(summary, heads, context_tokens);
}

ModelFit fit_model(std::span<const TensorInfo> tensors, const ModelSummary& summary,
                   std::uint64_t context_tokens, std::span<const DeviceMemory> chosen,
                   std::span<const DeviceMemory> others) {
  if (chosen.empty()) {
    throw Error(ErrorCode::invalid_argument, "fit model", "no device was chosen");
  }
  ModelFit fit;
  fit.context_tokens = context_tokens;
  fit.kv_cache_bytes = kv_cache_bytes(summary, context_tokens);
  std::vector<std::uint64_t> layer_caches;
  for (const std::uint64_t heads : summary.kv_heads) {
    layer_caches.push_back(cache_bytes(summary, heads, context_tokens));
  }
  const auto groups = load::group_with_cache(tensors, layer_caches).groups;
  for (const TensorGroup& group : groups) fit.weights_bytes += group.weights_bytes;
  const DeviceMemory& first = chosen.front();
  fit.margin_bytes =
      load::margin_bytes(fit.weights_bytes + fit.kv_cache_bytes, first.is_host_memory);
  fit.total_bytes = fit.weights_bytes + fit.kv_cache_bytes + fit.margin_bytes;
  if (chosen.size() == 1) fit.max_context_tokens = max_context(summary, fit.weights_bytes, first);
  const auto runs = load::fill(groups, chosen);
  fit.is_held = runs.back().size_bytes() == 0;
  if (!fit.is_held) {
    std::uint64_t available = 0;
    for (const DeviceMemory& device : chosen) available += load::available_bytes(device);
    // Enough in sum may still not be enough for whole layers.
    fit.shortfall_bytes =
        fit.total_bytes > available ? fit.total_bytes - available : runs.back().size_bytes();
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
