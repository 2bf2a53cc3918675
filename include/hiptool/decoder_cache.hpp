// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hiptool/arena.hpp"
#include "hiptool/backend.hpp"
#include "hiptool/export.hpp"
#include "hiptool/ops_model.hpp"
#include "hiptool/tensor.hpp"

namespace hiptool {

/// The KV cache of all layers of a decoder on one device: of each layer the keys, f32 [capacity,
/// heads, key size], and the values, f32 [capacity, heads, value size], of the tokens so far by
/// their position. A step appends the same tokens to every layer, and then advances by them:
///
///     for (layer ...) { cache.append(layer, keys, values); ops::attention(.., cache.layer(layer))
///     } cache.advance(tokens);
///
/// Not for several threads at a time. Copying a DecoderCache shares the memory, but not the length.
class HIPTOOL_API DecoderCache {
 public:
  struct Layer {
    std::uint64_t heads = 0;  ///< of keys and values: fewer than of queries where they are grouped
    std::uint64_t key_size = 0;
    std::uint64_t value_size = 0;
  };

  /// Allocates memory_bytes() at once, uninitialised. Work goes to the Backend's stream. Does not
  /// block. Throws Error(invalid_argument) for a capacity of 0, and what memory_bytes() and Arena
  /// throw.
  DecoderCache(const Backend& backend, std::uint64_t capacity, std::span<const Layer> layers);
  /// The same in an arena with that many free bytes on the Backend's device.
  DecoderCache(const Backend& backend, Arena& arena, std::uint64_t capacity,
               std::span<const Layer> layers);

  /// In each layer 4 bytes x capacity x heads x (key size + value size), where keys and values are
  /// rounded up to 256 bytes each. Throws Error(invalid_argument) where the sum is above 2^63.
  [[nodiscard]] static std::uint64_t memory_bytes(std::uint64_t capacity,
                                                  std::span<const Layer> layers);

  std::size_t layer_count() const noexcept { return layers_.size(); }
  std::uint64_t capacity() const noexcept { return capacity_; }
  /// Tokens so far: the position at which append() writes.
  std::uint64_t length() const noexcept { return length_; }

  /// Queues a copy of the keys f32 [tokens, heads, key size] and values f32 [tokens, heads, value
  /// size] of the tokens from length() on; the length stays. A second call before advance()
  /// overwrites the first. Does not block. Throws Error(out_of_bounds) for a layer that is not
  /// there and for tokens that exceed the capacity, Error(invalid_argument) for shapes, dtypes and
  /// devices that are not the cache's.
  void append(std::size_t layer, const Tensor& keys, const Tensor& values);

  /// The same for tokens whose keys and values other work writes, into layer() from position
  /// length() on. Throws Error(out_of_bounds) likewise.
  void mark_appended(std::size_t layer, std::uint64_t tokens);

  /// Counts tokens that append() has written to every layer. Throws Error(out_of_bounds) where they
  /// exceed the capacity, Error(invalid_argument), naming the layer, where one lacks them.
  void advance(std::uint64_t tokens);

  /// Forgets the tokens from that position on; without effect where there are no more. Memory and
  /// queued work stay as they are.
  void truncate(std::uint64_t length) noexcept;
  /// Forgets all tokens.
  void reset() noexcept { truncate(0); }

  /// The keys and values of the first length() tokens, which later tokens do not overwrite. Throws
  /// Error(out_of_bounds) for a layer that is not there.
  [[nodiscard]] ops::KVCache get(std::size_t layer) const;
  /// The whole memory of a layer, as ops::attention takes it: with the tokens that were appended
  /// since the last advance(). Throws likewise.
  [[nodiscard]] const ops::KVCache& layer(std::size_t layer) const;

 private:
  void require_layer(std::size_t layer) const;
  void require_capacity(std::uint64_t tokens) const;

  Backend backend_;
  std::uint64_t capacity_;
  std::uint64_t length_ = 0;
  std::vector<ops::KVCache> layers_;
  std::vector<std::uint64_t> ends_;  // of what was appended, by layer
};

}  // namespace hiptool
