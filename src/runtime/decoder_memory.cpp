// SPDX-License-Identifier: MIT
#include "runtime/decoder_memory.hpp"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "hiptool/error.hpp"

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

ScratchSizes scratch_sizes(const DecoderSpec& spec, const std::vector<std::size_t>& layers) {
  ScratchSizes sizes;
  for (const std::size_t number : layers) {
    const DecoderLayer& layer = spec.layers[number];
    sizes.q = std::max(sizes.q, layer.q.rows);
    sizes.k = std::max(sizes.k, layer.k.rows);
    sizes.v = std::max(sizes.v, layer.v.rows);
    sizes.attention = std::max(sizes.attention, layer.attention_output.columns);
    sizes.feed_forward = std::max({sizes.feed_forward, layer.gate.rows, layer.up.rows});
  }
  return sizes;
}

/// Sums up slices of an arena.
class ByteCount {
 public:
  void add(std::uint64_t first, std::uint64_t second, std::uint64_t third = 1) {
    constexpr std::uint64_t padding = Arena::minimum_alignment_bytes;
    std::uint64_t bytes = 0;
    const bool overflows = __builtin_mul_overflow(first, second, &bytes) ||
                           __builtin_mul_overflow(bytes, third, &bytes) ||
                           __builtin_mul_overflow(bytes, sizeof(float), &bytes) ||
                           bytes > most - padding || total_ > most - padding - bytes;
    if (overflows) {
      refuse_options("the KV cache would need more than 2^63 bytes", "choose a smaller context");
    }
    total_ += (bytes + padding - 1) / padding * padding;
  }
  std::uint64_t total() const { return total_; }

 private:
  static constexpr std::uint64_t most = std::uint64_t{1} << 63;
  std::uint64_t total_ = 0;
};

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
  return std::min(options.chunk_tokens, options.context_tokens);
}

std::uint64_t decoder_memory_bytes(const DecoderSpec& spec, const std::vector<std::size_t>& layers,
                                   const ModelRuntime::Options& options) {
  require_options(options);
  const std::uint64_t context = options.context_tokens;
  const std::uint64_t chunk = decoder_chunk_tokens(options);
  const ScratchSizes sizes = scratch_sizes(spec, layers);
  ByteCount count;
  for (const std::size_t layer : layers) {
    count.add(context, spec.layers[layer].kv_heads, spec.key_length);
    count.add(context, spec.layers[layer].kv_heads, spec.value_length);
  }
  for (int scratch = 0; scratch < 3; ++scratch) count.add(chunk, spec.embedding);
  for (const std::uint64_t elements :
       {sizes.q, sizes.k, sizes.v, sizes.attention, sizes.feed_forward, sizes.feed_forward}) {
    count.add(chunk, elements);
  }
  return count.total();
}

DecoderMemory::DecoderMemory(const Backend& backend, const DecoderSpec& spec,
                             const std::vector<std::size_t>& layers,
                             const ModelRuntime::Options& options)
    : DecoderMemory(
          make_decoder_arena(backend, options, decoder_memory_bytes(spec, layers, options)),
          scratch_sizes(spec, layers), spec, layers, options,
          decoder_memory_bytes(spec, layers, options)) {}

// Slices keep the arena's memory.
DecoderMemory::DecoderMemory(Arena arena, const ScratchSizes& sizes, const DecoderSpec& spec,
                             const std::vector<std::size_t>& layers,
                             const ModelRuntime::Options& options, std::uint64_t size_bytes)
    : x(Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), spec.embedding})),
      normed(Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), spec.embedding})),
      sum(Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), spec.embedding})),
      q(Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), sizes.q})),
      k(Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), sizes.k})),
      v(Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), sizes.v})),
      attention(Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), sizes.attention})),
      gate(Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), sizes.feed_forward})),
      up(Tensor::empty(arena, DType::f32, {decoder_chunk_tokens(options), sizes.feed_forward})),
      size_bytes_(size_bytes) {
  for (const std::size_t layer : layers) {
    const std::uint64_t heads = spec.layers[layer].kv_heads;
    ops::KVCache cache{
        Tensor::empty(arena, DType::f32, {options.context_tokens, heads, spec.key_length}),
        Tensor::empty(arena, DType::f32, {options.context_tokens, heads, spec.value_length})};
    caches.emplace(layer, std::move(cache));
  }
}

Tensor DecoderMemory::rows(const Tensor& scratch, std::uint64_t tokens, std::uint64_t columns) {
  return scratch.with_layout(Layout{tokens, columns});
}

}  // namespace hiptool::runtime
