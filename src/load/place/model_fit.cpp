// SPDX-License-Identifier: MIT
#include "hiptool/model_fit.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "hiptool/error.hpp"
#include "hiptool/load_plan.hpp"
#include "load/place/layer_name.hpp"
#include "load/place/margin.hpp"

namespace hiptool {
namespace {

constexpr std::uint64_t cache_element_bytes = 2;  // f16, llama.cpp's default for keys and values

/// What stays together: a layer, what stands before all layers, or what stands behind them.
struct Unit {
  std::uint64_t tensors = 0;
  std::uint64_t tensor_bytes = 0;
  std::uint64_t weights_bytes = 0;
  std::uint64_t kv_cache_bytes = 0;

  Unit& operator+=(const Unit& other) {
    tensors += other.tensors;
    tensor_bytes += other.tensor_bytes;
    weights_bytes += other.weights_bytes;
    kv_cache_bytes += other.kv_cache_bytes;
    return *this;
  }
};

std::uint64_t aligned(std::uint64_t size_bytes) {
  // Cannot overflow: each size was checked against its file.
  return (size_bytes + tensor_alignment_bytes - 1) / tensor_alignment_bytes *
         tensor_alignment_bytes;
}

std::uint64_t room_bytes(const FitDevice& device) {
  return device.memory_free_bytes.value_or(device.memory_total_bytes);
}

std::uint64_t margin_of(const Unit& unit, const FitDevice& device) {
  const std::uint64_t bytes = unit.weights_bytes + unit.kv_cache_bytes;
  return bytes == 0 ? 0 : load::margin_bytes(bytes, device.is_host_memory);
}

std::uint64_t needed_bytes(const Unit& unit, const FitDevice& device) {
  return unit.weights_bytes + unit.kv_cache_bytes + margin_of(unit, device);
}

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

/// The model as units in the order of computation: before the layers, the layers, behind them.
class Units {
 public:
  Units(std::span<const TensorInfo> tensors, const ModelSummary& summary, std::uint64_t context)
      : units_(static_cast<std::size_t>(*summary.layers) + 2) {
    bool has_output = false;
    for (const TensorInfo& tensor : tensors) {
      const Unit part{1, tensor.size_bytes, aligned(tensor.size_bytes), 0};
      unit_of(tensor.name) += part;
      has_output = has_output || is_output_matrix(tensor.name);
      if (is_embedding(tensor.name)) second_embedding_ += part;
    }
    if (has_output) second_embedding_ = {};
    for (std::size_t layer = 0; layer < summary.kv_heads.size(); ++layer) {
      units_[layer + 1].kv_cache_bytes =
          layer_cache_bytes(summary, summary.kv_heads[layer], context);
    }
  }

  std::span<const Unit> all() const { return units_; }

  /// The last `count` of layers and output, as an engine places them that keeps the rest elsewhere.
  std::vector<Unit> last(std::size_t count) const {
    std::vector<Unit> chosen(units_.end() - static_cast<std::ptrdiff_t>(count), units_.end());
    if (!chosen.empty()) chosen.back() += second_embedding_;
    return chosen;
  }

  std::size_t layers_and_output() const { return units_.size() - 1; }

 private:
  Unit& unit_of(std::string_view name) {
    const load::LayerName place = load::read_layer_name(name);
    const std::size_t layers = units_.size() - 2;
    if (place.section == load::Section::behind_layers) return units_.back();
    const bool is_layer = place.section == load::Section::layer && place.layer < layers;
    return is_layer ? units_[static_cast<std::size_t>(place.layer) + 1] : units_.front();
  }

  std::vector<Unit> units_;
  Unit second_embedding_;
};

struct GroupPlacement {
  std::vector<Unit> loads;  ///< one for each device
  std::uint64_t left_over_bytes = 0;
};

// Units in order onto devices in order; a device takes the next unit while no more than this share
// of its room is needed.
GroupPlacement place(std::span<const Unit> units, std::span<const FitDevice> devices,
                     double share) {
  GroupPlacement placement;
  placement.loads.resize(devices.size());
  std::size_t device = 0;
  for (const Unit& unit : units) {
    for (; device < devices.size(); ++device) {
      Unit together = placement.loads[device];
      together += unit;
      const auto most = static_cast<double>(room_bytes(devices[device])) * share;
      // Whole numbers at the full share: a double would round what fits to the byte.
      const bool fits = share >= 1
                            ? needed_bytes(together, devices[device]) <= room_bytes(devices[device])
                            : static_cast<double>(needed_bytes(together, devices[device])) <= most;
      if (fits) {
        placement.loads[device] = together;
        break;
      }
    }
    if (device == devices.size()) {
      placement.left_over_bytes += unit.weights_bytes + unit.kv_cache_bytes;
    }
  }
  return placement;
}

bool fits(std::span<const Unit> units, std::span<const FitDevice> devices) {
  return place(units, devices, 1).left_over_bytes == 0;
}

// The placement whose fullest device is least full.
std::vector<Unit> balance(std::span<const Unit> units, std::span<const FitDevice> devices) {
  constexpr int halvings = 30;
  double low = 0;
  double high = 1;
  for (int step = 0; step < halvings; ++step) {
    const double middle = (low + high) / 2;
    (place(units, devices, middle).left_over_bytes == 0 ? high : low) = middle;
  }
  return place(units, devices, high).loads;
}

void set_parts(ModelFit& fit, std::span<const FitDevice> devices, std::span<const Unit> loads) {
  fit.parts.clear();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Unit& load = loads[i];
    fit.parts.push_back({devices[i], load.tensors, load.tensor_bytes, load.weights_bytes,
                         load.kv_cache_bytes, margin_of(load, devices[i])});
  }
}

void set_split(ModelFit& fit, std::span<const FitDevice> devices, std::span<const Unit> units) {
  fit.verdict = FitVerdict::split;
  set_parts(fit, devices, balance(units, devices));
  const auto whole = static_cast<double>(fit.weights_bytes + fit.kv_cache_bytes);
  fit.margin_bytes = 0;
  for (const FitPart& part : fit.parts) {
    const auto bytes = static_cast<double>(part.weights_bytes + part.kv_cache_bytes);
    fit.split.push_back(whole > 0 ? bytes / whole : 0);
    fit.margin_bytes += part.margin_bytes;
  }
  fit.total_bytes = fit.weights_bytes + fit.kv_cache_bytes + fit.margin_bytes;
}

// A prefix of a placement that fits also fits, so the count can be found by halving.
std::uint64_t most_gpu_layers(const Units& units, std::span<const FitDevice> devices) {
  std::size_t low = 0;
  std::size_t high = units.layers_and_output();
  while (low < high) {
    const std::size_t middle = (low + high + 1) / 2;
    if (fits(units.last(middle), devices)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

std::uint64_t shortfall(const Unit& whole, std::span<const Unit> units,
                        std::span<const FitDevice> devices) {
  std::uint64_t room = 0;
  for (const FitDevice& device : devices) room += room_bytes(device);
  const std::uint64_t needed = needed_bytes(whole, devices.front());
  if (needed > room) return needed - room;
  // Enough in sum; what is missing is room for whole layers.
  return place(units, devices, 1).left_over_bytes;
}

std::optional<std::uint64_t> most_context(const ModelSummary& summary, const Unit& whole,
                                          const FitDevice& device) {
  constexpr std::uint64_t most = std::uint64_t{1} << 30;
  const std::uint64_t token_bytes = kv_cache_bytes(summary, 1);
  if (token_bytes == 0) return std::nullopt;
  const auto fits_with = [&](std::uint64_t context) {
    if (context > most_cache_bytes / token_bytes) return false;
    Unit unit = whole;
    unit.kv_cache_bytes = context * token_bytes;
    return needed_bytes(unit, device) <= room_bytes(device);
  };
  std::uint64_t low = 0;
  std::uint64_t high = most;
  while (low < high) {
    const std::uint64_t middle = (low + high + 1) / 2;
    if (fits_with(middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

void place_without_all(ModelFit& fit, const Units& units, std::span<const FitDevice> chosen,
                       std::span<const FitDevice> others) {
  const bool in_host = std::any_of(chosen.begin(), chosen.end(),
                                   [](const FitDevice& device) { return device.is_host_memory; });
  if (!in_host) fit.gpu_layers = most_gpu_layers(units, chosen);
  std::vector<FitDevice> devices(chosen.begin(), chosen.end());
  devices.insert(devices.end(), others.begin(), others.end());
  if (fits(units.all(), devices)) {
    set_split(fit, devices, units.all());
    return;
  }
  const bool has_layers = fit.gpu_layers.value_or(0) > 0;
  fit.verdict = has_layers ? FitVerdict::gpu_layers : FitVerdict::does_not_fit;
  const std::vector<Unit> held = units.last(static_cast<std::size_t>(fit.gpu_layers.value_or(0)));
  set_parts(fit, chosen, place(held, chosen, 1).loads);
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

std::uint64_t kv_cache_bytes(const ModelSummary& summary, std::uint64_t context) {
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
    sum = plus(sum, layer_cache_bytes(summary, heads, context));
  }
  if (sum > most_cache_bytes) refuse_overflow();
  return sum;
}

ModelFit fit_model(std::span<const TensorInfo> tensors, const ModelSummary& summary,
                   std::uint64_t context, std::span<const FitDevice> chosen,
                   std::span<const FitDevice> others) {
  if (chosen.empty()) {
    throw Error(ErrorCode::invalid_argument, "fit model", "no device was chosen");
  }
  ModelFit fit;
  fit.context = context;
  fit.kv_cache_bytes = kv_cache_bytes(summary, context);
  const Units units(tensors, summary, context);
  Unit whole;
  for (const Unit& unit : units.all()) whole += unit;
  fit.weights_bytes = whole.weights_bytes;
  fit.margin_bytes = margin_of(whole, chosen.front());
  fit.total_bytes = fit.weights_bytes + fit.kv_cache_bytes + fit.margin_bytes;
  if (chosen.size() == 1) fit.most_context = most_context(summary, whole, chosen.front());
  fit.is_held = chosen.size() == 1 ? fit.total_bytes <= room_bytes(chosen.front())
                                   : fits(units.all(), chosen);
  if (!fit.is_held) {
    fit.shortfall_bytes = shortfall(whole, units.all(), chosen);
    place_without_all(fit, units, chosen, others);
  } else if (chosen.size() == 1) {
    fit.verdict = FitVerdict::fits;
    set_parts(fit, chosen, std::span(&whole, 1));
  } else {
    set_split(fit, chosen, units.all());
  }
  return fit;
}

}  // namespace hiptool
