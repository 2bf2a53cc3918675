// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace hiptool::model {

/// Which layers of an architecture keep the keys and values of which tokens.
enum class CacheKind {
  whole,      ///< every layer with KV heads keeps all tokens, whatever the metadata says
  windows,    ///< some layers keep a window of the last tokens
  listed,     ///< layers without KV heads have a recurrent state, the others keep all tokens
  interval,   ///< one layer of each group keeps all tokens, the others have a recurrent state
  both,       ///< every layer keeps all tokens and has a recurrent state
  recurrent,  ///< every layer has a recurrent state and keeps no tokens
  nothing,    ///< a model that computes all tokens at once and keeps none
};

/// How llama.cpp (else transformers) allocates the cache of some architectures.
struct CacheRule {
  std::string_view names;  ///< of GGUF's general.architecture and config.json's model_type
  CacheKind kind = CacheKind::whole;
  bool is_latent = false;    ///< one compressed key for all heads, no values
  bool has_indexer = false;  ///< latent, and one more key for the choice of tokens
  /// Trained for that many tokens, two layers at the start and one of four have an indexer; 0: all.
  std::uint64_t sparse_indexers_from = 0;
  bool has_lone_networks = false;       ///< listed: some layers are a feed-forward network alone
  std::uint64_t period = 0;             ///< windows: layers in each group, one of them whole
  bool is_whole_first = false;          ///< the first one of the group, else the last one
  std::uint64_t window = 0;             ///< windows: tokens where the metadata names none
  bool is_window_fixed = false;         ///< also where it names another number, but not with 0
  std::uint64_t windows_only_of = 0;    ///< windows: in models of that many layers only; 0: in all
  std::uint64_t layers_with_cache = 0;  ///< the layers after these share theirs; 0: all have one
  std::string_view source;              ///< file of llama.cpp (.cpp) or of transformers (.py)
};

/// Null for an architecture whose cache is not known.
const CacheRule* find_cache_rule(std::string_view architecture) noexcept;

/// The public address that the rule was read at.
std::string source_of(const CacheRule& rule);

}  // namespace hiptool::model
