// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "hiptool/arena.hpp"
#include "hiptool/backend.hpp"
#include "hiptool/decoder_cache.hpp"
#include "hiptool/decoder_spec.hpp"
#include "hiptool/model_runtime.hpp"
#include "hiptool/tensor.hpp"

namespace hiptool::runtime {

/// Elements of scratch memory for one token, the largest of the layers.
struct ScratchSizes {
  std::uint64_t q = 0, k = 0, v = 0, attention = 0, feed_forward = 0;
  /// Scores of the router, experts of a token, their results: 0 without experts.
  std::uint64_t scores = 0, used = 0, slots = 0;
  std::uint64_t query_latent = 0, latent = 0, normed_latent = 0, keys_and_values = 0;
  /// Of layers with a state, and of gates behind queries: see DecoderMemory.
  std::uint64_t joined = 0, channels = 0, state_heads = 0, score_pairs = 0;
  std::uint64_t shared_scores = 0;
  /// Of all tokens together: rows and elements of a matrix that a file has transposed.
  std::uint64_t transposed_rows = 0, transposed_elements = 0;
};

/// Of a layer, two copies of each: see StateTurn.
struct DeltaState {
  std::array<Tensor, 2> state;   ///< f32 [value_heads, key_length, value_length]
  std::array<Tensor, 2> inputs;  ///< of the convolution: f32 [taps - 1, channels]
};

/// The memory of a ModelRuntime on one device, one allocation: the same sizes as
/// ModelRuntime::memory_bytes.
class DecoderMemory {
 public:
  /// Of these layers. Throws Error(out_of_memory).
  DecoderMemory(const Backend& backend, const DecoderSpec& spec,
                const std::vector<std::size_t>& layers, const ModelRuntime::Options& options);

  std::uint64_t size_bytes() const noexcept { return size_bytes_; }

  DecoderCache cache;                              ///< of these layers, as far as they attend
  std::map<std::size_t, std::size_t> cache_layer;  ///< the cache's layer by the model's
  std::map<std::size_t, DeltaState> states;        ///< by the model's layer
  /// f32, the largest chunk of all layers: see rows().
  Tensor x, normed, sum, q, k, v, attention, gate, up, scores, expert_weights, slots;
  Tensor expert_ids;  ///< u32
  Tensor query_latent, latent, normed_latent, keys_and_values;
  /// A matrix in both directions, and u32 0, 1, 2 .. for its rows; not for each token.
  Tensor transposed_keys, key_matrix, all_rows;
  /// Products that are taken apart (q, k, v and z; queries and gates) or z alone, and inputs and
  /// results of convolutions; numbers of heads: b and a together, each of them, and what follows
  /// from them; the score of the shared expert.
  Tensor joined, mixed, convolved, score_pairs, delta_scores, delta_steps, decays, betas;
  Tensor shared_score;

  /// The first elements of scratch memory as [tokens, columns]; "tokens" may be slots.
  static Tensor rows(const Tensor& scratch, std::uint64_t tokens, std::uint64_t columns);

 private:
  DecoderMemory(const Backend& backend, Arena arena, const ScratchSizes& sizes,
                const DecoderSpec& spec, const std::vector<std::size_t>& layers,
                const ModelRuntime::Options& options, std::uint64_t size_bytes);

  std::uint64_t size_bytes_;
};

/// Bytes of a DecoderMemory of these layers. Throws Error(invalid_argument).
std::uint64_t decoder_memory_bytes(const DecoderSpec& spec, const std::vector<std::size_t>& layers,
                                   const ModelRuntime::Options& options);

/// The part of it that is not KV cache.
std::uint64_t decoder_scratch_bytes(const DecoderSpec& spec, const std::vector<std::size_t>& layers,
                                    const ModelRuntime::Options& options);

/// Tokens that go through a layer at a time.
std::uint64_t decoder_chunk_tokens(const ModelRuntime::Options& options);

}  // namespace hiptool::runtime
