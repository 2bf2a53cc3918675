// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hiptool/export.hpp"
#include "hiptool/model_file.hpp"

namespace hiptool {

/// The tensors of one element type.
struct TypeShare {
  std::string type;  ///< the format's own name: "Q4_K", "BF16"
  std::uint64_t tensors = 0;
  std::uint64_t size_bytes = 0;
};

/// What one layer keeps of one sequence. Keys and values are `heads` times their lengths for each
/// token.
struct LayerCache {
  std::uint64_t heads = 0;
  std::uint64_t key_length = 0;
  std::uint64_t value_length = 0;    ///< 0 with latent attention
  std::uint64_t indexer_length = 0;  ///< one more key of a sparse attention's indexer
  std::uint64_t window_tokens = 0;   ///< only the last tokens are kept; 0: all
  std::uint64_t state_bytes = 0;     ///< recurrent state; does not grow with the context
};

/// The shape of a model, from its metadata: GGUF's keys (ggml's gguf.md), or for safetensors the
/// config.json next to the files (Hugging Face transformers). Values that it lacks stay absent.
struct ModelSummary {
  std::optional<std::string> architecture;  ///< "llama": general.architecture, model_type
  std::optional<std::string> name;
  std::uint64_t parameters = 0;  ///< ModelFile::parameters()
  std::vector<TypeShare> types;  ///< most bytes first
  /// The name of its mix of types: general.file_type ("Q4_K_M"), quant_method ("fp8").
  std::optional<std::string> file_type;
  std::optional<std::uint64_t> context_length;  ///< tokens that it was trained for
  std::optional<std::uint64_t> layers;
  std::optional<std::uint64_t> embedding_length;
  /// Width of the feed-forward network, one number for each layer as `heads`.
  std::vector<std::uint64_t> feed_forward_length;
  /// Attention heads and heads of keys and values, one number for each layer (one alone where
  /// `layers` is absent); 0 for a layer without attention. Empty: unknown.
  std::vector<std::uint64_t> heads;
  std::vector<std::uint64_t> kv_heads;
  std::optional<std::uint64_t> key_length;      ///< elements of a key of one head
  std::optional<std::uint64_t> value_length;    ///< elements of a value of one head
  std::optional<std::uint64_t> sliding_window;  ///< tokens that windowed layers look back
  std::optional<std::uint64_t> experts;
  std::optional<std::uint64_t> experts_used;  ///< for one token
  std::optional<std::uint64_t> vocabulary_size;
  /// Keys and values are kept as one compressed vector for all heads (multi-head latent attention,
  /// DeepSeek-V2, section 2.1).
  bool has_latent_attention = false;
  bool is_decoder = false;    ///< config.json says `is_decoder`, as of a BERT that decodes
  bool is_recurrent = false;  ///< some layers keep a state that does not grow with the context
  /// What each layer keeps, as llama.cpp allocates it (else transformers). Empty in a summary that
  /// was not made by summarize(): all layers keep `kv_heads` keys and values of all tokens.
  std::vector<LayerCache> caches;
  /// The architecture is none whose cache is known: `caches` is the most that it may be, and
  /// `least_caches` the least.
  bool cache_is_bound = false;
  std::vector<LayerCache> least_caches;  ///< empty unless cache_is_bound
  std::string cache_source;              ///< public address of the rule; empty for a bound
  /// The keys without which recurrent states count as nothing; empty where they are known.
  std::vector<std::string> missing_state_keys;
  /// Why the metadata cannot be read, such as a malformed config.json; empty if it was.
  std::string unreadable;
  /// The keys without which a KV cache cannot be sized, as their file writes them; empty when it
  /// can.
  std::vector<std::string> missing_keys;
  std::vector<std::string> warnings;  ///< about ignored values, one sentence each
};

/// Reads the model's metadata. A value of a wrong kind or an implausible one (more than 65 536
/// layers, counts above 2^32) is ignored with a warning, and so is a config.json that is malformed,
/// deeper than 16 levels, above 4 MiB or of more than 200 000 values. Blocks while it reads small
/// parts of files; throws Error(input_failed) when a GGUF cannot be read any more or changed since
/// it was parsed.
[[nodiscard]] HIPTOOL_API ModelSummary summarize(const ModelFile& model);

}  // namespace hiptool
