// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/model_summary.hpp"

namespace hiptool::model {

inline constexpr std::uint64_t most_layers = 65'536;
inline constexpr std::uint64_t most_count = std::uint64_t{1} << 32;
/// Of one layer; small enough for sums over all layers.
inline constexpr std::uint64_t most_state_bytes = std::uint64_t{1} << 44;

/// The count if it is from 0 to `most`; else the summary gets a warning that it is ignored.
std::optional<std::uint64_t> believable(ModelSummary& summary, std::string_view key,
                                        std::int64_t value, std::uint64_t most = most_count);

/// One number for each layer from one for all or from one each; empty, with a warning, where their
/// count is not the number of layers.
std::vector<std::uint64_t> for_each_layer(ModelSummary& summary, std::string_view key,
                                          std::vector<std::uint64_t> values);

/// Fills in what follows from the rest (as many KV heads as heads, lengths from the embedding) and
/// names what is missing for a KV cache; the keys are the model's own.
struct KeyNames {
  std::string layers;
  std::string heads;
  std::string key_length;
};
void complete(ModelSummary& summary, const KeyNames& keys);

/// Adds the fields of the config.json in the folder of the model's files (the format of Hugging
/// Face transformers). A missing file is fine; an unusable one adds a warning, never a failure.
void read_config_json(const ModelFile& model, ModelSummary& summary);

}  // namespace hiptool::model
