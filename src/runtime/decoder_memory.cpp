// SPDX-License-Identifier: MIT
#include "runtime/decoder_memory.hpp"

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "runtime/byte_count.hpp"

namespace hiptool::runtime {
namespace {

constexpr std::uint64_t most_context = std::uint64_t{1} << 30;

[[noreturn]] void refuse_options(const std::string& message, const std::string& hint) {
  throw Error(ErrorCode::invalid_argument, "make runtime", message, hint);
}

void require_options(const ModelRuntime::Options& options) {
  if (options.context_tokens == 0 || options.context_tokens > most_context) {
    refuse_options("a context of " + base::plain_count_of(options.context_tokens, "token"),
                   "choose 1 to 2^30 tokens");
  }
  if (options.chunk_tokens == 0) refuse_options("chunks of 0 tokens", "choose 1 or more");
}

// The largest number where it exceeds 64 bits, which ByteCount refuses.
std::uint64_t most_product(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t most = ~std::uint64_t{0};
  return b > 0 && a > most / b ? most : a * b;
}

ScratchSizes scratch_sizes(const DecoderSpec& spec, const std::vector<std::size_t>& layers) {
  ScratchSizes sizes;
  for (const std::size_t number : layers) {
    const DecoderLayer& layer = spec.layers[number];
    sizes.q = std::max(sizes.q, layer.q.rows);
    sizes.k = std::max(sizes.k, layer.k.rows);
    sizes.v = std::max(sizes.v, layer.v.rows);
    sizes.attention = std::max(sizes.attention, layer.attention_output.columns);
    const std::uint64_t used = layer.experts.used;
    sizes.feed_forward = std::max(
        sizes.feed_forward, used > 0 ? most_product(layer.feed_forward, used) : layer.feed_forward);
    sizes.scores = std::max(sizes.scores, layer.experts.count);
    sizes.used = std::max(sizes.used, used);
    sizes.slots = std::max(sizes.slots, most_product(used, spec.embedding));
    sizes.feed_forward = std::max(sizes.feed_forward, layer.experts.shared_feed_forward);
    sizes.shared_scores = std::max(sizes.shared_scores, layer.experts.shared_score.rows);
    if (layer.has_output_gate) sizes.joined = std::max(sizes.joined, layer.q.rows);
    if (layer.has_delta()) {
      const DeltaSpec& delta = layer.delta;
      sizes.q = std::max(sizes.q, delta.keys());
      sizes.k = std::max(sizes.k, delta.keys());
      sizes.v = std::max(sizes.v, delta.values());
      const std::uint64_t joined = delta.has_mixed_z() ? delta.mixed.rows : delta.values();
      sizes.joined = std::max(sizes.joined, joined);
      sizes.channels = std::max(sizes.channels, delta.channels());
      sizes.state_heads = std::max(sizes.state_heads, delta.value_heads);
      if (delta.has_mixed_steps())
        sizes.score_pairs = std::max(sizes.score_pairs, delta.scores.rows);
    }
    if (!layer.has_latent()) continue;
    const LatentSpec& latent = layer.latent;
    const std::uint64_t plain = spec.key_length - spec.rope.dimensions;
    sizes.k = std::max(sizes.k, layer.heads * spec.key_length);
    sizes.v = std::max(sizes.v, layer.heads * spec.value_length);
    sizes.query_latent = std::max(sizes.query_latent, latent.query_length);
    sizes.latent = std::max(sizes.latent, latent.down.rows);
    sizes.normed_latent = std::max(sizes.normed_latent, latent.length);
    sizes.keys_and_values = std::max(sizes.keys_and_values, layer.heads * plain);
    sizes.keys_and_values = std::max(sizes.keys_and_values, latent.up.rows);
    sizes.transposed_rows = std::max(sizes.transposed_rows, latent.k_up.rows);
    sizes.transposed_elements =
        std::max(sizes.transposed_elements, most_product(latent.k_up.rows, latent.k_up.columns));
  }
  return sizes;
}

std::vector<DecoderCache::Layer> cache_layers(const DecoderSpec& spec,
                                              const std::vector<std::size_t>& layers) {
  std::vector<DecoderCache::Layer> all;
  for (const std::size_t layer : layers) {
    if (spec.layers[layer].has_delta()) continue;
    all.push_back({spec.layers[layer].kv_heads, spec.key_length, spec.value_length});
  }
  return all;
}

std::uint64_t states_bytes(const DecoderSpec& spec, const std::vector<std::size_t>& layers) {
  ByteCount count;
  for (const std::size_t number : layers) {
    const DeltaSpec& delta = spec.layers[number].delta;
    if (!spec.layers[number].has_delta()) continue;
    for (int copy = 0; copy < 2; ++copy) {
      count.add(delta.value_heads, delta.key_length, delta.value_length);
      count.add(delta.taps - 1, delta.channels());
    }
  }
  return count.total();
}

std::map<std::size_t, DeltaState> make_states(Arena& arena, const DecoderSpec& spec,
                                              const std::vector<std::size_t>& layers) {
  std::map<std::size_t, DeltaState> all;
  for (const std::size_t number : layers) {
    const DeltaSpec& delta = spec.layers[number].delta;
    if (!spec.layers[number].has_delta()) continue;
    const auto state = [&] {
      return Tensor::empty(arena, DType::f32,
                           {delta.value_heads, delta.key_length, delta.value_length});
    };
    const auto inputs = [&] {
      return Tensor::empty(arena, DType::f32, {delta.taps - 1, delta.channels()});
    };
    all.emplace(number, DeltaState{{state(), state()}, {inputs(), inputs()}});
  }
  return all;
}

Arena make_decoder_arena(const Backend& backend, const ModelRuntime::Options& options,
                         std::uint64_t size_bytes) {
  try {
    return backend.with_retry([&] { return Arena(backend.device(), size_bytes); });
  } catch (const Error& error) {
    throw error.with_context("KV cache and scratch memory for " +
                             base::plain_count_of(options.context_tokens, "token"));
  }
}

}  // namespace

std::uint64_t decoder_chunk_tokens(const ModelRuntime::Options& options) {
  return std::min({options.chunk_tokens, options.context_tokens, ModelRuntime::most_chunk_tokens});
}

std::uint64_t decoder_scratch_bytes(const DecoderSpec& spec, const std::vector<std::size_t>& layers,
                                    const ModelRuntime::Options& options) {
  require_options(options);
  const std::uint64_t chunk = decoder_chunk_tokens(options);
  const ScratchSizes sizes = scratch_sizes(spec, layers);
  ByteCount count;
  for (int scratch = 0; scratch < 3; ++scratch) count.add(chunk, spec.embedding);
  for (const std::uint64_t elements : {sizes.q,
                                       sizes.k,
                                       sizes.v,
                                       sizes.attention,
                                       sizes.feed_forward,
                                       sizes.feed_forward,
                                       sizes.scores,
                                       sizes.used,
                                       sizes.slots,
                                       sizes.used,
                                       sizes.query_latent,
                                       sizes.latent,
                                       sizes.normed_latent,
                                       sizes.keys_and_values,
                                       sizes.joined,
                                       sizes.channels,
                                       sizes.channels,
                                       sizes.score_pairs,
                                       sizes.state_heads,
                                       sizes.state_heads,
                                       sizes.state_heads,
                                       sizes.state_heads,
                                       sizes.shared_scores}) {
    count.add(chunk, elements);
  }
  for (const std::uint64_t elements :
       {sizes.transposed_elements, sizes.transposed_elements, sizes.transposed_rows}) {
    count.add(1, elements);
  }
  return count.total();
}

std::uint64_t decoder_memory_bytes(const DecoderSpec& spec, const std::vector<std::size_t>& layers,
                                   const ModelRuntime::Options& options) {
  require_options(options);
  constexpr std::uint64_t most = std::uint64_t{1} << 63;
  const std::uint64_t states = states_bytes(spec, layers);
  const std::uint64_t caches = std::min(
      most,
      states + DecoderCache::memory_bytes(options.context_tokens, cache_layers(spec, layers)));
  const std::uint64_t scratch = decoder_scratch_bytes(spec, layers, options);
  if (scratch > most - caches) {
    refuse_options("KV cache and scratch memory would need more than 2^63 bytes",
                   "choose a smaller context");
  }
  return caches + scratch;
}

DecoderMemory::DecoderMemory(const Backend& backend, const DecoderSpec& spec,
                             const std::vector<std::size_t>& layers,
                             const ModelRuntime::Options& options)
    : DecoderMemory(
          backend,
          make_decoder_arena(backend, options, decoder_memory_bytes(spec, layers, options)),
          scratch_sizes(spec, layers), spec, layers, options,
          decoder_memory_bytes(spec, layers, options)) {}

// Slices keep the arena's memory.
DecoderMemory::DecoderMemory(const Backend& backend, Arena arena, const ScratchSizes& sizes,
                             const DecoderSpec& spec, const std::vector<std::size_t>& layers,
                             const ModelRuntime::Options& options, std::uint64_t size_bytes)
    : cache(backend, arena, options.context_tokens, cache_layers(spec, layers)),
      states(make_states(arena, spec, layers)),
      x(Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), spec.embedding})),
      normed(Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), spec.embedding})),
      sum(Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), spec.embedding})),
      q(Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), sizes.q})),
      k(Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), sizes.k})),
      v(Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), sizes.v})),
      attention(Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), sizes.attention})),
      gate(Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), sizes.feed_forward})),
      up(Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), sizes.feed_forward})),
      scores(Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), sizes.scores})),
      expert_weights(Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), sizes.used})),
      slots(Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), sizes.slots})),
      expert_ids(Tensor::empty(arena, DType::u32, {decoder_chunk_tokens(options), sizes.used})),
      query_latent(
          Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), sizes.query_latent})),
      latent(Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), sizes.latent})),
      normed_latent(
          Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), sizes.normed_latent})),
      keys_and_values(
          Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), sizes.keys_and_values})),
      transposed_keys(Tensor::empty(arena, DType::f32, {sizes.transposed_elements})),
      key_matrix(Tensor::empty(arena, DType::f32, {sizes.transposed_elements})),
      all_rows(Tensor::empty(arena, DType::u32, {sizes.transposed_rows})),
      joined(Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), sizes.joined})),
      mixed(Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), sizes.channels})),
      convolved(Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), sizes.channels})),
      score_pairs(
          Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), sizes.score_pairs})),
      delta_scores(
          Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), sizes.state_heads})),
      delta_steps(
          Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), sizes.state_heads})),
      decays(Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), sizes.state_heads})),
      betas(Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), sizes.state_heads})),
      shared_score(
          Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), sizes.shared_scores})),
      size_bytes_(size_bytes) {
  for (const std::size_t layer : layers) {
    if (!spec.layers[layer].has_delta()) cache_layer.emplace(layer, cache_layer.size());
  }
  if (sizes.transposed_rows == 0) return;
  std::vector<std::uint32_t> rows(static_cast<std::size_t>(sizes.transposed_rows));
  std::iota(rows.begin(), rows.end(), 0U);
  all_rows.copy_from_host(std::span<const std::uint32_t>(rows), backend.stream());
  backend.synchronize();  // the list is on this stack
}

Tensor DecoderMemory::rows(const Tensor& scratch, std::uint64_t tokens, std::uint64_t columns) {
  return scratch.with_layout(Layout{tokens, columns});
}

}  // namespace hiptool::runtime
