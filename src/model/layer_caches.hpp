// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hiptool/model_summary.hpp"

namespace hiptool::model {

/// What a layer keeps, as metadata lists it.
enum class LayerKind {
  whole,      ///< keys and values of all tokens
  window,     ///< of the last tokens
  recurrent,  ///< a state
  both,       ///< keys and values of all tokens, and a state
  nothing,    ///< a feed-forward network alone
  unknown,    ///< a kind that is not known here: any of the above
};

/// Layers that run several times for a token and may keep keys and values of each run.
struct LayerLoops {
  std::uint64_t runs = 1;
  std::uint64_t first = 0;
  std::uint64_t end = UINT64_MAX;  ///< one past the last
};
inline constexpr std::uint64_t most_runs = 1024;

/// What the metadata says about the cache beyond the fields of ModelSummary.
struct CacheFacts {
  std::vector<LayerKind> kinds;         ///< one for each layer; empty where the metadata lists none
  bool has_unknown_kinds = false;       ///< it lists some that are not known here
  std::optional<std::uint64_t> period;  ///< sliding_window_pattern as a number
  std::optional<std::uint64_t> interval;  ///< full_attention_interval
  /// Of layers with a window, where they differ from other layers.
  std::optional<std::uint64_t> window_heads, window_key_length, window_value_length;
  std::vector<std::uint64_t> head_lengths;  ///< of each layer where they differ; else empty
  bool is_latent = false;  ///< keys are compressed to key_length elements, and there are no values
  std::uint64_t shared_layers = 0;  ///< the last ones, which use the caches of others
  std::uint64_t share_period = 0;   ///< in such a group the others may use the first layer's cache
  LayerLoops loops;
  bool attends_to_encoder = false;   ///< its layers keep keys and values of an encoder's output too
  std::uint64_t predict_layers = 0;  ///< the last ones, of multi-token prediction
  std::optional<std::uint64_t> indexer_length;  ///< elements of the indexer's key
  std::vector<bool> indexers;                   ///< which layers have one; empty: unsaid
  std::optional<std::uint64_t> state_bytes;     ///< of one recurrent layer
  std::vector<std::string> missing_state_keys;
};

/// Of a recurrent layer in llama.cpp's f32 (llama_hparams::n_embd_r and n_embd_s); absent where a
/// number is missing or the result is absurd.
struct StateShape {
  std::optional<std::uint64_t> convolution;  ///< tokens that its kernel covers
  std::optional<std::uint64_t> inner;        ///< channels
  std::optional<std::uint64_t> state;        ///< elements of each channel
  std::uint64_t groups = 0;
};
std::optional<std::uint64_t> state_bytes(const StateShape& shape);

/// The same of states with heads of length x length elements (KDA, RWKV) after `kept` others.
struct HeadedStateShape {
  std::uint64_t kept = 0;
  std::uint64_t heads = 0;
  std::uint64_t length = 0;
};
std::optional<std::uint64_t> state_bytes(const HeadedStateShape& shape);

/// Fills in the caches of the layers from the summary's own fields, the facts and the rule of the
/// architecture (cache_rules.cpp). Needs a summary that complete() has seen.
void set_caches(ModelSummary& summary, const CacheFacts& facts);

}  // namespace hiptool::model
