// SPDX-License-Identifier: MIT
#include "model/layer_caches.hpp"

#include <algorithm>
#include <cstddef>

#include "model/cache_rules.hpp"
#include "model/metadata_counts.hpp"

namespace hiptool::model {
namespace {

// Products of counts up to 2^32 may exceed 64 bits.
using Real = long double;

Real real(std::uint64_t count) noexcept { return static_cast<Real>(count); }

std::optional<std::uint64_t> bytes_of(Real floats) {
  constexpr Real float_bytes = 4;
  if (floats * float_bytes > real(most_state_bytes)) return std::nullopt;
  return static_cast<std::uint64_t>(floats * float_bytes);
}

constexpr std::uint64_t usual_interval = 4;  // of llama.cpp's qwen3next.cpp where no key says it
// Most that the tokens of a batch need of a cache of which only they are kept.
constexpr std::uint64_t least_window = 1;

class Caches {
 public:
  Caches(ModelSummary& summary, const CacheFacts& facts, const CacheRule* rule)
      : summary_(summary), facts_(facts), rule_(rule), layers_(summary.kv_heads.size()) {}

  void set() {
    summary_.cache_is_bound = is_bound();
    if (rule_ != nullptr) summary_.cache_source = source_of(*rule_);
    const std::uint64_t trunk = layers_ - std::min<std::uint64_t>(layers_, facts_.predict_layers);
    const std::uint64_t owners = layers_with_cache();
    summary_.caches.reserve(layers_);
    if (summary_.cache_is_bound) summary_.least_caches.reserve(layers_);
    for (std::size_t layer = 0; layer < layers_; ++layer) {
      const LayerKind kind = layer < trunk ? kind_of(layer) : LayerKind::nothing;
      const bool attends = kind != LayerKind::recurrent && kind != LayerKind::nothing;
      const bool has_state = kind == LayerKind::recurrent || kind == LayerKind::both ||
                             (kind == LayerKind::unknown && facts_.state_bytes);
      LayerCache cache;
      if (attends && layer < owners) fill_attention(layer, kind, cache);
      if (has_state) cache.state_bytes = facts_.state_bytes.value_or(0);
      summary_.is_recurrent = summary_.is_recurrent || has_state;
      if (has_state && !facts_.state_bytes) {
        summary_.missing_state_keys = facts_.missing_state_keys;
      }
      if (!attends) summary_.kv_heads[layer] = 0;
      if (summary_.cache_is_bound) {
        summary_.least_caches.push_back(least_of(layer, cache));
        multiply(cache, most_caches_of(layer));
      }
      summary_.caches.push_back(cache);
    }
  }

 private:
  // Layers that keep nothing of tokens have no heads either; where the metadata names some, one of
  // the two is not what it says.
  bool is_bound() const {
    if (rule_ == nullptr || has_unknown_kinds() || facts_.share_period > 1) return true;
    if (facts_.loops.runs > 1) return true;  // code of the model's own, not that of the rule
    if (rule_->kind != CacheKind::recurrent) return false;
    return std::ranges::any_of(summary_.kv_heads, [](std::uint64_t heads) { return heads > 0; });
  }

  bool has_unknown_kinds() const {
    return facts_.has_unknown_kinds &&
           (rule_ == nullptr || rule_->kind == CacheKind::windows ||
            rule_->kind == CacheKind::listed || rule_->kind == CacheKind::interval);
  }

  std::uint64_t layers_with_cache() const {
    if (rule_ != nullptr && rule_->layers_with_cache > 0) return rule_->layers_with_cache;
    return layers_ - std::min<std::uint64_t>(layers_, facts_.shared_layers);
  }

  LayerKind kind_of(std::size_t layer) const {
    if (rule_ == nullptr) return unknown_kind_of(layer);
    switch (rule_->kind) {
      case CacheKind::whole: return LayerKind::whole;
      case CacheKind::windows: return has_window(layer) ? LayerKind::window : LayerKind::whole;
      case CacheKind::listed: return listed_kind_of(layer);
      case CacheKind::interval: return attends_at_interval(layer);
      case CacheKind::both: return LayerKind::both;
      case CacheKind::recurrent:
        return summary_.cache_is_bound ? LayerKind::both : LayerKind::recurrent;
      case CacheKind::nothing: break;
    }
    return LayerKind::nothing;
  }

  // An upper bound: a window that nobody is known to make use of keeps all tokens.
  LayerKind unknown_kind_of(std::size_t layer) const {
    if (!facts_.kinds.empty()) {
      return facts_.kinds[layer] == LayerKind::window ? LayerKind::whole : facts_.kinds[layer];
    }
    if (facts_.interval.value_or(0) > 0) return attends_at_interval(layer);
    return may_be_hybrid() ? LayerKind::both : LayerKind::whole;
  }

  // There is a state, and nothing says which layers have it (Phi-4-mini-flash).
  bool may_be_hybrid() const {
    return rule_ == nullptr && facts_.kinds.empty() && facts_.interval.value_or(0) == 0 &&
           facts_.state_bytes.value_or(0) > 0;
  }

  LayerKind listed_kind_of(std::size_t layer) const {
    if (!facts_.kinds.empty()) return facts_.kinds[layer];
    if (summary_.kv_heads[layer] > 0) {
      return summary_.sliding_window.value_or(0) > 0 ? LayerKind::window : LayerKind::whole;
    }
    const auto& forward = summary_.feed_forward_length;
    const bool is_forward =
        rule_->has_lone_networks && layer < forward.size() && forward[layer] > 0;
    return is_forward ? LayerKind::nothing : LayerKind::recurrent;
  }

  LayerKind attends_at_interval(std::size_t layer) const {
    if (!facts_.kinds.empty()) return facts_.kinds[layer];
    const std::uint64_t interval =
        std::max<std::uint64_t>(1, facts_.interval.value_or(usual_interval));
    return (layer + 1) % interval == 0 ? LayerKind::whole : LayerKind::recurrent;
  }

  bool has_window(std::size_t layer) const {
    if (window() == 0) return false;
    if (rule_->windows_only_of > 0 && layers_ != rule_->windows_only_of) return false;
    if (!facts_.kinds.empty()) return facts_.kinds[layer] == LayerKind::window;
    const std::uint64_t period = facts_.period.value_or(rule_->period);
    if (period == 0) return true;
    return layer % period != (rule_->is_whole_first ? 0 : period - 1);
  }

  // In tokens; 0: none.
  std::uint64_t window() const {
    const auto& named = summary_.sliding_window;
    if (rule_ == nullptr) return named.value_or(0);
    if (named && (!rule_->is_window_fixed || *named == 0)) return *named;
    return rule_->window;
  }

  void fill_attention(std::size_t layer, LayerKind kind, LayerCache& cache) const {
    cache.heads = summary_.kv_heads[layer];
    cache.key_length = summary_.key_length.value_or(0);
    cache.value_length = summary_.value_length.value_or(0);
    if (kind == LayerKind::window) {
      cache.window_tokens = window();
      if (facts_.window_heads) cache.heads = *facts_.window_heads;
      if (facts_.window_key_length) cache.key_length = *facts_.window_key_length;
      if (facts_.window_value_length) cache.value_length = *facts_.window_value_length;
    } else if (may_be_window(layer)) {
      cache.heads = std::max(cache.heads, facts_.window_heads.value_or(0));
      cache.key_length = std::max(cache.key_length, facts_.window_key_length.value_or(0));
      cache.value_length = std::max(cache.value_length, facts_.window_value_length.value_or(0));
    }
    if (!facts_.head_lengths.empty()) {
      cache.key_length = cache.value_length = facts_.head_lengths[layer];
    }
    const bool is_known_latent = rule_ != nullptr && rule_->is_latent && facts_.is_latent;
    if (is_known_latent) cache.value_length = 0;
    if (rule_ == nullptr) {
      // An indexer has keys of its own, and in MiniMax M3 values next to them.
      cache.indexer_length = 2 * facts_.indexer_length.value_or(0);
    } else if (rule_->has_indexer && has_indexer(layer)) {
      cache.indexer_length = facts_.indexer_length.value_or(0);
    }
  }

  // Of a bound: heads and lengths are either those of layers with a window or those of the others.
  bool may_be_window(std::size_t layer) const {
    if (!summary_.cache_is_bound) return false;
    return facts_.kinds.empty() || facts_.kinds[layer] != LayerKind::whole;
  }

  bool has_indexer(std::size_t layer) const {
    if (!facts_.indexers.empty()) return layer < facts_.indexers.size() && facts_.indexers[layer];
    const std::uint64_t sparse_from = rule_->sparse_indexers_from;
    const bool is_sparse = sparse_from > 0 && summary_.context_length.value_or(0) >= sparse_from;
    return !is_sparse || layer < 2 || layer % 4 == 2;
  }

  // One for each run, and of an encoder that reads as many tokens as the context has.
  std::uint64_t most_caches_of(std::size_t layer) const {
    const bool repeats = layer >= facts_.loops.first && layer < facts_.loops.end;
    return (repeats ? facts_.loops.runs : 1) * (facts_.attends_to_encoder ? 2 : 1);
  }

  static void multiply(LayerCache& cache, std::uint64_t count) {
    cache.heads *= count;
    cache.indexer_length *= count;
    cache.state_bytes = std::min(most_state_bytes, cache.state_bytes * count);
  }

  // Nothing says that the layer keeps tokens or a state.
  bool may_keep_nothing(std::size_t layer) const {
    if (!facts_.kinds.empty()) return facts_.kinds[layer] == LayerKind::unknown;
    if (rule_ == nullptr) return facts_.interval.value_or(0) == 0;
    return has_unknown_kinds() && rule_->kind != CacheKind::windows;
  }

  LayerCache least_of(std::size_t layer, LayerCache cache) const {
    if (facts_.share_period > 1 && layer % facts_.share_period != 0) cache.heads = 0;
    const bool is_shared_alone =
        rule_ != nullptr && !has_unknown_kinds() && rule_->kind != CacheKind::recurrent;
    if (is_shared_alone) return cache;
    if (may_keep_nothing(layer)) cache.heads = cache.state_bytes = 0;
    if (may_be_window(layer)) {
      const std::uint64_t heads = summary_.kv_heads[layer];
      const std::uint64_t length = summary_.key_length.value_or(0);
      cache.heads = std::min({cache.heads, heads, facts_.window_heads.value_or(heads)});
      cache.key_length =
          std::min({cache.key_length, length, facts_.window_key_length.value_or(length)});
    }
    if (rule_ != nullptr && rule_->kind == CacheKind::recurrent) cache.heads = 0;  // see is_bound()
    cache.window_tokens = std::max(window(), least_window);
    cache.value_length = 0;
    cache.indexer_length = 0;
    return cache;
  }

  ModelSummary& summary_;
  const CacheFacts& facts_;
  const CacheRule* rule_;
  std::size_t layers_;
};

}  // namespace

std::optional<std::uint64_t> state_bytes(const StateShape& shape) {
  if (!shape.convolution || !shape.inner || !shape.state) return std::nullopt;
  const Real inner = real(*shape.inner);
  const Real state = real(*shape.state);
  const Real kept = real(std::max<std::uint64_t>(*shape.convolution, 1) - 1);
  return bytes_of(kept * (inner + 2 * real(shape.groups) * state) + inner * state);
}

std::optional<std::uint64_t> state_bytes(const HeadedStateShape& shape) {
  const Real length = real(shape.length);
  return bytes_of(real(shape.kept) + real(shape.heads) * length * length);
}

void set_caches(ModelSummary& summary, const CacheFacts& facts) {
  if (!summary.missing_keys.empty() || !summary.layers ||
      summary.kv_heads.size() != *summary.layers) {
    return;
  }
  const CacheRule* rule = find_cache_rule(summary.architecture.value_or(""));
  if (summary.is_decoder && rule != nullptr && rule->kind == CacheKind::nothing) rule = nullptr;
  Caches(summary, facts, rule).set();
}

}  // namespace hiptool::model
