// SPDX-License-Identifier: MIT
#include "hiptool/decoder_cache.hpp"

#include <algorithm>
#include <string>

#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "runtime/byte_count.hpp"

namespace hiptool {
namespace {

Arena make_cache_arena(const Backend& backend, std::uint64_t size_bytes) {
  return backend.with_retry([&] { return Arena(backend.device(), size_bytes); });
}

}  // namespace

// Slices keep the arena's memory.
DecoderCache::DecoderCache(const Backend& backend, std::uint64_t capacity,
                           std::span<const Layer> layers)
    : backend_(backend), capacity_(capacity) {
  Arena arena = make_cache_arena(backend, memory_bytes(capacity, layers));
  *this = DecoderCache(backend, arena, capacity, layers);
}

DecoderCache::DecoderCache(const Backend& backend, Arena& arena, std::uint64_t capacity,
                           std::span<const Layer> layers)
    : backend_(backend), capacity_(capacity), ends_(layers.size(), 0) {
  if (capacity == 0) {
    throw Error(ErrorCode::invalid_argument, "make cache", "a capacity of 0 tokens",
                "choose 1 or more");
  }
  for (const Layer& layer : layers) {
    layers_.push_back(
        {Tensor::empty(arena, DType::f32, {capacity, layer.heads, layer.key_size}),
         Tensor::empty(arena, DType::f32, {capacity, layer.heads, layer.value_size})});
  }
}

std::uint64_t DecoderCache::memory_bytes(std::uint64_t capacity, std::span<const Layer> layers) {
  runtime::ByteCount count;
  for (const Layer& layer : layers) {
    count.add(capacity, layer.heads, layer.key_size);
    count.add(capacity, layer.heads, layer.value_size);
  }
  return count.total();
}

void DecoderCache::require_layer(std::size_t layer) const {
  if (layer < layers_.size()) return;
  throw Error(ErrorCode::out_of_bounds, "cache",
              "layer " + std::to_string(layer) + " of a cache with " +
                  base::plain_count_of(layers_.size(), "layer"));
}

void DecoderCache::append(std::size_t layer, const Tensor& keys, const Tensor& values) {
  require_layer(layer);
  ops::kv_append(backend_, layers_[layer], keys, values, length_);
  ends_[layer] = length_ + keys.dims()[0];
}

void DecoderCache::require_capacity(std::uint64_t tokens) const {
  if (tokens <= capacity_ - length_) return;
  throw Error(ErrorCode::out_of_bounds, "cache",
              base::plain_count_of(tokens, "token") + " after " + std::to_string(length_) +
                  " exceed the capacity of " + std::to_string(capacity_),
              "make the cache larger or reset it");
}

void DecoderCache::mark_appended(std::size_t layer, std::uint64_t tokens) {
  require_layer(layer);
  require_capacity(tokens);
  ends_[layer] = length_ + tokens;
}

void DecoderCache::advance(std::uint64_t tokens) {
  require_capacity(tokens);
  const auto lacking =
      std::ranges::find_if(ends_, [&](std::uint64_t end) { return end < length_ + tokens; });
  if (lacking != ends_.end()) {
    throw Error(ErrorCode::invalid_argument, "cache",
                "layer " + std::to_string(lacking - ends_.begin()) + " has the tokens up to " +
                    std::to_string(*lacking) + ", not " + std::to_string(length_ + tokens),
                "append the tokens to every layer first");
  }
  length_ += tokens;
}

void DecoderCache::truncate(std::uint64_t length) noexcept {
  length_ = std::min(length_, length);
  for (std::uint64_t& end : ends_) end = std::min(end, length_);
}

ops::KVCache DecoderCache::get(std::size_t layer) const {
  const auto first = [&](const Tensor& cached) {
    return cached.with_layout(cached.layout().narrow(0, 0, length_));
  };
  const ops::KVCache& whole = this->layer(layer);
  return {first(whole.keys), first(whole.values)};
}

const ops::KVCache& DecoderCache::layer(std::size_t layer) const {
  require_layer(layer);
  return layers_[layer];
}

}  // namespace hiptool
