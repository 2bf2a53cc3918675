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

using load::available_bytes;
using load::needed_bytes;
using load::TensorGroup;
using Memory = std::span<const DeviceMemory>;

constexpr std::uint64_t cache_element_bytes = 2;  // f16, llama.cpp's default for keys and values

// More than any machine has, and small enough for sums with weights and margins.
constexpr std::uint64_t most_cache_bytes = std::uint64_t{1} << 62;

[[noreturn]] void refuse_overflow() {
  throw Error(ErrorCode::corrupt_data, "size the KV cache",
              "the metadata asks for a KV cache of more than 2^62 bytes",
              "give a smaller --context, or look at the metadata of the model");
}

std::uint64_t times(std::uint64_t left, std::uint64_t right) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(left, right, &product)) refuse_overflow();
  return product;
}

std::uint64_t plus(std::uint64_t left, std::uint64_t right) {
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(left, right, &sum)) refuse_overflow();
  return sum;
}

std::uint64_t layer_cache_bytes(const ModelSummary& summary, std::uint64_t kv_heads,
                                std::uint64_t context) {
  if (kv_heads == 0) return 0;
  const std::uint64_t elements = plus(*summary.key_length, *summary.value_length);
  return times(times(times(context, kv_heads), elements), cache_element_bytes);
}

// A summary that was not made by summarize() may be anything.
void check_shape(const ModelSummary& summary) {
  const bool has_heads = std::any_of(summary.kv_heads.begin(), summary.kv_heads.end(),
                                     [](std::uint64_t heads) { return heads != 0; });
  const bool has_lengths = summary.key_length && summary.value_length;
  if (summary.layers == summary.kv_heads.size() && (has_lengths || !has_heads)) return;
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

// The run of each device and the bytes that do not fit on any of them.
struct Filled {
  std::vector<TensorGroup> runs;
  std::uint64_t left_over_bytes = 0;
};

Filled fill(std::span<const TensorGroup> groups, Memory devices) {
  const auto ends = load::fill(groups, load::most_bytes(devices));
  Filled filled{load::sum_runs(groups, ends)};
  for (std::size_t i = ends.back(); i < groups.size(); ++i) {
    filled.left_over_bytes += groups[i].size_bytes();
  }
  return filled;
}

bool fits(std::span<const TensorGroup> groups, Memory devices) {
  return fill(groups, devices).left_over_bytes == 0;
}

/// The groups of a model that go to a GPU when others stay with the CPU.
class GpuLayers {
 public:
  GpuLayers(std::span<const TensorInfo> tensors, std::span<const TensorGroup> groups)
      : groups_(groups) {
    for (const TensorInfo& tensor : tensors) {
      if (is_output_matrix(tensor.name)) has_output_ = true;
      if (is_embedding(tensor.name)) embedding_ += load::group_of(tensor);
    }
  }

  /// The output and the layers before it, `count` in all.
  std::vector<TensorGroup> last(std::uint64_t count) const {
    std::vector<TensorGroup> chosen(groups_.end() - static_cast<std::ptrdiff_t>(count),
                                    groups_.end());
    if (!chosen.empty() && !has_output_) chosen.back() += embedding_;
    return chosen;
  }

  std::uint64_t most(Memory devices) const {
    return load::largest(groups_.size() - 1,
                         [&](std::uint64_t count) { return fits(last(count), devices); });
  }

 private:
  std::span<const TensorGroup> groups_;
  TensorGroup embedding_;
  bool has_output_ = false;
};

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
  set_parts(fit, devices, load::sum_runs(groups, load::cut_to_equal_shares(groups, devices)));
  const auto whole = static_cast<double>(fit.weights_bytes + fit.kv_cache_bytes);
  fit.margin_bytes = 0;
  for (const FitPart& part : fit.parts) {
    const auto bytes = static_cast<double>(part.weights_bytes + part.kv_cache_bytes);
    fit.split.push_back(whole > 0 ? bytes / whole : 0);
    fit.margin_bytes += part.margin_bytes;
  }
  fit.total_bytes = fit.weights_bytes + fit.kv_cache_bytes + fit.margin_bytes;
}

std::uint64_t shortfall(const ModelFit& fit, std::span<const TensorGroup> groups, Memory devices) {
  std::uint64_t available = 0;
  for (const DeviceMemory& device : devices) available += available_bytes(device);
  if (fit.total_bytes > available) return fit.total_bytes - available;
  // Enough in sum, but not for whole layers.
  return fill(groups, devices).left_over_bytes;
}

std::optional<std::uint64_t> max_context(const ModelSummary& summary, std::uint64_t weights_bytes,
                                         const DeviceMemory& device) {
  constexpr std::uint64_t most = std::uint64_t{1} << 30;
  const std::uint64_t token_bytes = kv_cache_bytes(summary, 1);
  if (token_bytes == 0) return std::nullopt;
  const auto fits_with = [&](std::uint64_t context) {
    return needed_bytes(weights_bytes + context * token_bytes, device.is_host_memory) <=
           available_bytes(device);
  };
  return load::largest(std::min(most, most_cache_bytes / token_bytes), fits_with);
}

// The devices do not hold all groups: others may, or some layers fit.
void set_part_of_model(ModelFit& fit, const GpuLayers& layers, std::span<const TensorGroup> groups,
                       Memory chosen, Memory others) {
  const bool in_host = std::any_of(chosen.begin(), chosen.end(), [](const DeviceMemory& device) {
    return device.is_host_memory;
  });
  if (!in_host) fit.gpu_layers = layers.most(chosen);
  std::vector<DeviceMemory> devices(chosen.begin(), chosen.end());
  devices.insert(devices.end(), others.begin(), others.end());
  if (fits(groups, devices)) {
    set_split(fit, devices, groups);
    return;
  }
  const std::uint64_t held = fit.gpu_layers.value_or(0);
  fit.verdict = held > 0 ? FitVerdict::gpu_layers : FitVerdict::does_not_fit;
  set_parts(fit, chosen, fill(layers.last(held), chosen).runs);
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
                "the model does not tell how large its KV cache is: " + names +
                    (summary.missing_keys.size() == 1 ? " is missing" : " are missing"),
                "leave out --context to look at the weights alone");
  }
  check_shape(summary);
  std::uint64_t sum = 0;
  for (const std::uint64_t heads : summary.kv_heads) {
    sum = plus(sum, layer_cache_bytes(summary, heads, context_tokens));
  }
  if (sum > most_cache_bytes) refuse_overflow();
  return sum;
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
    layer_caches.push_back(layer_cache_bytes(summary, heads, context_tokens));
  }
  const auto groups = load::group_with_cache(tensors, layer_caches).groups;
  for (const TensorGroup& group : groups) fit.weights_bytes += group.weights_bytes;
  const DeviceMemory& first = chosen.front();
  fit.margin_bytes =
      load::margin_bytes(fit.weights_bytes + fit.kv_cache_bytes, first.is_host_memory);
  fit.total_bytes = fit.weights_bytes + fit.kv_cache_bytes + fit.margin_bytes;
  if (chosen.size() == 1) fit.max_context_tokens = max_context(summary, fit.weights_bytes, first);
  const Filled filled = fill(groups, chosen);
  fit.is_held = filled.left_over_bytes == 0;
  if (!fit.is_held) {
    fit.shortfall_bytes = shortfall(fit, groups, chosen);
    set_part_of_model(fit, GpuLayers(tensors, groups), groups, chosen, others);
  } else if (chosen.size() == 1) {
    fit.verdict = FitVerdict::fits;
    set_parts(fit, chosen, filled.runs);
  } else {
    set_split(fit, chosen, groups);
  }
  return fit;
}

}  // namespace hiptool
