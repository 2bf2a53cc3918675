// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hiptool/backend.hpp"
#include "hiptool/buffer.hpp"
#include "hiptool/decoder_spec.hpp"
#include "hiptool/export.hpp"
#include "hiptool/load.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/stream.hpp"
#include "hiptool/tensor.hpp"

namespace hiptool {

/// An intermediate result of ModelRuntime::decode_step: f32 [tokens, elements] unless stated.
struct DecoderStage {
  /// "embedding"; in each layer "attention_norm", "q", "k", "v" (with their biases), "rotated_q",
  /// "rotated_k" (after the norms of heads, where there are any), "attention", "attention_output",
  /// ("attention_post_norm",) "middle" (the layer's input plus that), "feed_forward_norm", "gate",
  /// "up", "activation", "down" ("feed_forward_post_norm"), "output" (of the layer); then
  /// "output_norm" and "logits", of the last token only; before the latter "products" where they
  /// are scaled or capped. Without a norm in front of it a block's input has the norm's name. With
  /// experts "gate" follows "router" (scores), "experts" (u32, their numbers) and "expert_weights";
  /// it, "up", "activation" and "expert_down" have the values of a token's experts one after the
  /// other, and "down" is their sum; with a shared one their sum is "routed", then follow
  /// "shared_gate", "shared_up", "shared_activation" and "shared_down", and "down" has both. With
  /// latents: "query_latent" and "query_latent_norm" (of queries that have one), "q", "latent" (and
  /// the shared key), "latent_norm", "keys_and_values" or "k" (what the latent gives to keys), "v",
  /// and the rest. Layers with a state have in place of "q" to "attention": "mixed" (q, k and
  /// v), after "mixed_and_z" where that is one product, otherwise before "z"; "scores" (b) and
  /// "steps" (a), after "scores_and_steps" where that is one; then "convolved", "unit_q" and
  /// "unit_k", "decays", "betas", "attention" (what the state gives), "attention_heads_norm" and
  /// "gated_attention". Gated attention has "queries_and_gates" before "q", and "gated_attention"
  /// after "attention". A shared expert with a score has "shared_score" before "shared_gate", and
  /// "shared_gated" after "shared_down".
  std::string_view name;
  std::optional<std::size_t> layer;  ///< absent outside of layers
  std::uint64_t position = 0;        ///< of the first token
  /// Queued on the stream, and overwritten by later work there: to keep the values, queue
  /// a copy or read them, as to_host(stream) does, before the probe returns.
  Tensor values;
  StreamRef stream;  ///< of the device that computes this step
};

/// A decoder on one device, or divided by layers among several: weights in place as the file stores
/// them, activations and the KV cache f32, by the operations of hiptool/ops_model.hpp. The same
/// bits on every platform and on any number of devices, and the same whether tokens come one by one
/// or in chunks of any length.
///
/// Not for several threads at a time. Its work goes to the streams of the Backends. Move-only;
/// functions of a moved-from one throw Error(invalid_argument).
class HIPTOOL_API ModelRuntime {
 public:
  struct Options {
    /// Tokens that the KV cache holds, at most 2^30. With longrope the long divisors are used where
    /// this exceeds RopeSpec::original_context, as llama.cpp does.
    std::uint64_t context_tokens = 2048;
    /// Tokens that go through a layer at a time, at least 1: longer inputs are divided. More need
    /// more scratch memory, and results do not depend on it. At most most_chunk_tokens are used.
    std::uint64_t chunk_tokens = 128;
    /// Queue the layers of a token as a Graph, where the runtime of the device has them, all layers
    /// are on one device and nothing is observed: the same results by fewer calls. Kernels that get
    /// the position as an argument are launched one by one all the same.
    bool uses_graphs = true;
  };
  /// Scratch memory is for no more tokens, however long a context is.
  static constexpr std::uint64_t most_chunk_tokens = 4096;

  /// The bytes that a tensor of a model has in its file, in device memory at multiples of 16.
  using BuffersByName = std::map<std::string, Buffer, std::less<>>;
  /// Is called with each stage as soon as it is queued. An exception from it ends decode_step.
  using Probe = std::function<void(const DecoderStage&)>;

  /// Takes the weights on the Backend's device. The specification is the model's. Blocks
  /// while norms and biases of other types than F32 are converted to it.
  ///
  /// Before anything is queued: Error(invalid_argument) for options out of range and a
  /// specification that does not fit the tensors, Error(not_found) for a tensor that is not on the
  /// device, Error(unsupported) for a type without kernels and for heads of more than 256
  /// elements, each naming the tensor, and for more context than RopeScaling::dynamic allows;
  /// Error(out_of_memory) when memory_bytes() are not free.
  ModelRuntime(const Backend& backend, const LoadedModel& model, DecoderSpec spec);
  ModelRuntime(const Backend& backend, const LoadedModel& model, DecoderSpec spec,
               const Options& options);
  /// On several devices: each step computes on the first one that has all of its tensors, as
  /// SplitKind::layer places them. What a layer passes on is copied to the device of the next one,
  /// without a wait between devices of one platform. Besides: Error(invalid_argument) without
  /// Backends, for two on one device, and for a layer that is divided.
  ModelRuntime(std::span<const Backend> backends, const LoadedModel& model, DecoderSpec spec,
               const Options& options);
  /// The same on one device, for weights that were copied in another way.
  ModelRuntime(const Backend& backend, const ModelFile& model, const BuffersByName& weights,
               DecoderSpec spec, const Options& options);
  ~ModelRuntime();
  ModelRuntime(ModelRuntime&&) noexcept;
  ModelRuntime& operator=(ModelRuntime&&) noexcept;

  /// Memory that a runtime on one device allocates when it is made, without weights:
  /// DecoderCache::memory_bytes() of C tokens of context in each layer with keys and values, twice
  /// the f32 state and the taps - 1 inputs of each layer with a state (a step writes one copy and
  /// keeps the other, so that it can be repeated), and scratch_bytes().
  /// Further memory comes from the Backend's allocator: cosines and sines, C x rope.dimensions
  /// elements; norms and biases that are not F32; matrices with scales of blocks as f32; a list of
  /// experts; the position of a token; for each call its ids and logits. Throws
  /// Error(invalid_argument) for options out of range and where the sum is above 2^63.
  [[nodiscard]] static std::uint64_t memory_bytes(const DecoderSpec& spec, const Options& options);
  /// The scratch memory among it. With T = min(chunk_tokens, context_tokens, most_chunk_tokens) and
  /// every term 4 bytes x elements, rounded up to 256: three times T x embedding; the largest T x
  /// elements of all layers for each of q, k, v, attention, gate and up. Attention keeps no scores.
  /// With experts also the largest T x their number, twice T x the number that a token uses, and
  /// that number times T x embedding; gate and up have a row for each of them. With states and
  /// gated attention also the largest T x elements of products that are taken apart, or z; twice
  /// the channels of a convolution; four times the value heads, and b and a together where they are
  /// one product; and T scores of the shared expert.
  [[nodiscard]] static std::uint64_t scratch_bytes(const DecoderSpec& spec, const Options& options);
  /// The same of this runtime: on several devices the sum over them, each with its own layers.
  [[nodiscard]] std::uint64_t memory_bytes() const;

  /// Queues all layers for tokens at the positions that follow those before, and returns the logits
  /// of the last one, f32 [vocabulary], in new memory of backend(). Does not wait for them, only
  /// for the copy of the ids, which may wait for earlier work, and where the next layer is on
  /// another platform.
  ///
  /// Before anything is queued: Error(invalid_argument) without tokens and after cleanup(),
  /// Error(out_of_bounds) for an id that is not in the vocabulary and for tokens that exceed the
  /// context. After an exception the tokens count as not given, and the call can be repeated.
  Tensor decode_step(std::span<const std::uint32_t> ids);
  /// The same by ids u32 [n] on the device of input_backend(), such as ops::argmax and
  /// TokenSampler::sample write, so that a step can be queued before the host has seen the logits
  /// of the one before. Does not wait, except where the next layer is on another platform.
  ///
  /// One that is not in the vocabulary has an embedding of zeros and is Error(out_of_bounds) at the
  /// next synchronize() of input_backend(); but 2^32 - 1 has zeros only. Throws
  /// Error(invalid_argument) for another dtype, rank and device, else as above.
  Tensor decode_step(const Tensor& ids);

  /// Tokens so far, which is the position of the next one.
  [[nodiscard]] std::uint64_t position() const;
  /// Forgets all tokens. Does not block.
  void reset();
  /// Replaces the probe; an empty one ends observation.
  void observe(Probe probe);

  /// Waits until the streams have passed all queued work, then releases weights and memory. Where
  /// that takes longer than the limit it throws Error(timed_out), within twice the limit, and keeps
  /// everything, so that it can be called again; so it does where a call of the runtime fails,
  /// whose error it throws. Does nothing the second time. Throws Error(invalid_argument) for a
  /// limit that is negative or NaN.
  void cleanup(double timeout_s);

  [[nodiscard]] const DecoderSpec& spec() const;
  /// The one that computes the logits.
  [[nodiscard]] const Backend& backend() const;
  /// The one that computes the embedding, whose device takes ids.
  [[nodiscard]] const Backend& input_backend() const;

 private:
  struct State;
  [[nodiscard]] State& state() const;  // throws where it was moved from
  std::unique_ptr<State> state_;
};

}  // namespace hiptool
