// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>

#include "load/place/kv_cache.hpp"

namespace hiptool {
namespace {

// Exact up to 2^64, which products of the metadata's counts may exceed.
using Exact = long double;

Exact exact(std::uint64_t count) noexcept { return static_cast<Exact>(count); }

constexpr Exact float_bytes = 4;
constexpr Exact half_bytes = 2;

// Their layers have activations that the rule does not count.
bool has_layer_embeddings(const ModelSummary& summary) {
  const std::string name = summary.architecture.value_or("");
  return name.starts_with("gemma3n") || name.starts_with("gemma4");
}

// They compute all tokens at once and end with the last activations.
bool is_encoder(const ModelSummary& summary) {
  const std::string name = summary.architecture.value_or("");
  if (summary.is_decoder) return false;
  return name.find("bert") != std::string::npos || name == "gemma-embedding";
}

bool is_mixture(const ModelSummary& summary) { return summary.experts.value_or(0) > 0; }

bool is_size_known(const ModelSummary& summary, GraphReserve reserve) {
  const bool has_numbers = summary.embedding_length && summary.vocabulary_size &&
                           summary.key_length && !summary.heads.empty();
  if (!has_numbers || summary.has_latent_attention) return false;
  if (reserve != GraphReserve::server) return true;
  return !is_mixture(summary) && !summary.feed_forward_length.empty() &&
         !has_layer_embeddings(summary);
}

/// The tensors of llama.cpp's graph that are alive at the same time.
class Graph {
 public:
  Graph(const ModelSummary& summary, std::uint64_t context_tokens,
        const ComputeBufferOptions& options)
      : summary_(summary),
        options_(options),
        batch_(std::min(options.batch_tokens, load::cells_of(context_tokens))),
        cells_(is_encoder(summary) ? batch_ : load::cells_of(context_tokens)),
        embedding_(exact(*summary.embedding_length)) {}

  Exact bytes() const { return std::max({logits(), attention(), feed_forward()}); }

 private:
  // For each token of a batch.
  Exact floats(Exact count) const { return float_bytes * exact(batch_) * count; }

  Exact logits() const {
    if (is_encoder(summary_)) return floats(embedding_);
    const bool has_all = options_.reserve != GraphReserve::server;
    const std::uint64_t outputs = has_all ? batch_ : std::min(options_.sequences, batch_);
    return floats(embedding_) + float_bytes * exact(outputs) * exact(*summary_.vocabulary_size);
  }

  // Layers with a window have a mask of their own.
  Exact masked_cells() const {
    if (summary_.caches.empty() || is_encoder(summary_)) return exact(cells_);
    std::uint64_t whole = 0;
    std::uint64_t windowed = 0;
    for (const LayerCache& cache : summary_.caches) {
      if (cache.heads == 0) continue;
      if (cache.window_tokens == 0) {
        whole = cells_;
      } else {
        windowed = std::min(cells_, load::cells_of(cache.window_tokens + batch_));
      }
    }
    return exact(whole) + exact(windowed);
  }

  Exact mask(Exact element_bytes) const { return element_bytes * exact(batch_) * masked_cells(); }

  Exact attention() const {
    const Exact heads = exact(*std::ranges::max_element(summary_.heads));
    const Exact activations = 2 * floats(embedding_ + heads * exact(*summary_.key_length));
    if (!options_.has_flash_attention) {
      return mask(float_bytes) + floats(heads * exact(cells_)) + activations;
    }
    const bool has_both = options_.reserve == GraphReserve::until_may_2026;
    return mask(has_both ? float_bytes + half_bytes : half_bytes) + activations;
  }

  // Only the converted mask is still needed after the first layer.
  Exact feed_forward() const {
    const auto& lengths = summary_.feed_forward_length;
    if (is_mixture(summary_) || lengths.empty()) return 0;
    const Exact width = exact(*std::ranges::max_element(lengths));
    return mask(options_.has_flash_attention ? half_bytes : float_bytes) +
           3 * floats(width + embedding_);
  }

  const ModelSummary& summary_;
  const ComputeBufferOptions& options_;
  std::uint64_t batch_;
  std::uint64_t cells_;  // that a token looks at
  Exact embedding_;
};

}  // namespace

std::optional<std::uint64_t> compute_buffer_bytes(const ModelSummary& summary,
                                                  std::uint64_t context_tokens,
                                                  const ComputeBufferOptions& options) {
  if (!is_size_known(summary, options.reserve)) return std::nullopt;
  const Exact bytes = Graph(summary, context_tokens, options).bytes();
  if (bytes > exact(load::most_cache_bytes)) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

std::optional<std::uint64_t> compute_buffer_bytes(const ModelSummary& summary,
                                                  std::uint64_t context_tokens,
                                                  std::uint64_t batch_tokens) {
  ComputeBufferOptions options;
  options.batch_tokens = batch_tokens;
  return compute_buffer_bytes(summary, context_tokens, options);
}

}  // namespace hiptool
