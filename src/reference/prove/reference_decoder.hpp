// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/decoder_spec.hpp"
#include "hiptool/error.hpp"
#include "hiptool/model_file.hpp"
#include "reference/prove/bounded.hpp"
#include "reference/prove/delta.hpp"
#include "reference/prove/weights.hpp"

namespace hiptool::reference {

struct ReferenceOptions {
  std::uint32_t threads = 0;          ///< 0: one for each core that the process may use
  std::uint64_t sequence_tokens = 0;  ///< the longest sequence to come: longrope depends on it
  const CancelToken* cancel = nullptr;
};

/// Keys and values of the tokens so far.
struct KeyValues {
  std::vector<double> keys;    ///< tokens x kv_heads x key_length
  std::vector<double> values;  ///< tokens x kv_heads x value_length
  std::vector<std::uint64_t> positions;
  DeltaMemory delta;  ///< of a layer with a state, in place of keys and values

  void append(std::span<const double> new_keys, std::span<const double> new_values,
              std::span<const std::uint64_t> new_positions);
};

/// What a layer computes on its way, tokens x elements, to find the first product that differs.
struct LayerStages {
  std::vector<double> attention_norm;
  std::vector<double> q, k, v;  ///< before norms of heads and rotation; k: what is not shared
  /// Of layers with latents, see DecoderStage.
  std::vector<double> query_latent, query_latent_norm, latent, latent_norm, keys_and_values;
  /// Of layers with a state, and of gated attention, see DecoderStage.
  std::vector<double> queries_and_gates, mixed_and_z, mixed, z, scores_and_steps, scores, steps,
      convolved, unit_q, unit_k, decays, betas, attention_heads_norm, gated_attention;
  std::vector<double> rotated_q;  ///< after both
  std::vector<double> rotated_k;
  std::vector<double> attention;  ///< input of attention_output, unless gated_attention is
  std::vector<double> attention_output;
  std::vector<double> attention_post_norm;  ///< empty where there is none
  std::vector<double> middle;               ///< the layer's input plus that
  std::vector<double> feed_forward_norm;
  std::vector<double> router;          ///< scores of experts, where there are some
  std::vector<std::uint32_t> experts;  ///< that each token uses; gate, up, activation: of these
  std::vector<double> expert_weights;  ///< of their results
  std::vector<double> gate, up;
  std::vector<double> activation;   ///< input of down
  std::vector<double> expert_down;  ///< of each expert
  /// Of layers with a shared expert, see DecoderStage.
  std::vector<double> routed, shared_score, shared_gate, shared_up, shared_activation, shared_down,
      shared_gated;
  std::vector<double> down;                    ///< with experts their sum
  std::vector<double> feed_forward_post_norm;  ///< empty where there is none
};

/// What a layer with a state computes of its products, each of the one before.
struct DeltaResults {
  Bounded convolved, unit_q, unit_k, decays, betas, attention, norm, gated;
};

/// A decoder in float64 on the host: the measure of what a device computes. It reads the files of
/// the model, and shares nothing with kernels but the description. Layers are called one by one, so
/// that each may be given a device's own result of the layer before.
///
/// Not for several threads at a time. Every call blocks, and throws Error(input_failed) where a
/// file cannot be read or changes, Error(corrupt_data) for a weight that is NaN or infinite, and
/// Error(cancelled). layer(), logits() and decode() throw Error(input_failed) where values leave
/// the range of f32, in which devices compute.
class ReferenceDecoder {
 public:
  /// Throws Error(input_failed) for weights of a type that cannot be computed with.
  ReferenceDecoder(const ModelFile& model, DecoderSpec spec, const ReferenceOptions& options = {});

  const DecoderSpec& spec() const noexcept { return spec_; }
  /// Throws Error(input_failed) for one that the model does not have.
  const TensorInfo& tensor(const std::string& name) const { return weights_.find(name); }

  /// The rows of the embedding, scaled: tokens x embedding. Throws Error(invalid_argument) for an
  /// id that is not in the vocabulary.
  std::vector<double> embed(std::span<const std::uint32_t> ids) const;

  /// The outputs of a layer, tokens x embedding, for inputs of that shape. Adds the keys and values
  /// of the tokens to the layer's cache; positions ascend from call to call. `of_device`: the
  /// experts that a device chose, tokens x used, see followed_experts(); empty: those with the
  /// highest scores. Throws Error(invalid_argument) for a layer that is not there, sizes that do
  /// not fit each other and positions that do not ascend.
  std::vector<double> layer(std::size_t number, std::span<const double> inputs,
                            std::span<const std::uint64_t> positions, LayerStages* stages = nullptr,
                            std::span<const std::uint32_t> of_device = {});

  /// The logits, tokens x vocabulary, of outputs of the last layer.
  std::vector<double> logits(std::span<const double> outputs) const;

  /// All layers on tokens at the positions that follow those before; logits of the last token.
  std::vector<double> decode(std::span<const std::uint32_t> ids);

  // Single stages, of any inputs.

  /// Without a weight the inputs themselves.
  Bounded norm(const std::string& weight, std::span<const double> inputs) const {
    return norm(weight, inputs, spec_.norm_epsilon);
  }
  Bounded norm(const std::string& weight, std::span<const double> inputs, double epsilon) const;
  /// W x + b of each of the inputs; bounds of the first that many.
  Bounded product(const MatrixSpec& matrix, std::span<const double> inputs,
                  std::size_t bounded_inputs = std::numeric_limits<std::size_t>::max()) const;
  /// Heads of a layer after their norm (an empty name: none) and their rotation.
  Bounded rotated(const DecoderLayer& layer, std::span<const double> heads,
                  const std::string& norm_weight, std::span<const std::uint64_t> positions) const;
  /// The same of queries, with their norm, and times a factor of the position where there is one.
  Bounded queries(const DecoderLayer& layer, std::span<const double> heads,
                  std::span<const std::uint64_t> positions) const;
  /// Of queries of the last tokens in the cache.
  Bounded attention(const DecoderLayer& layer, const KeyValues& cache,
                    std::span<const double> queries) const;

  /// Of a layer with a state: the convolution behind the tokens that the memory has, decays, a norm
  /// of heads without DecoderSpec::norm_offset; and all of the layer.
  Bounded convolved(const DeltaSpec& delta, std::span<const double> mixed,
                    DeltaMemory& memory) const;
  Bounded decays(const DeltaSpec& delta, std::span<const double> steps) const;
  Bounded delta_norm(const DeltaSpec& delta, std::span<const double> heads) const;
  DeltaResults follow_delta(const DeltaSpec& delta, const DeltaParts& parts,
                            DeltaMemory& memory) const;

  /// The same with the matrix of each slot's expert, see Weights::expert_product().
  Bounded expert_product(const ExpertMatrices& matrices, const ExpertsSpec& experts,
                         std::span<const std::uint32_t> ids, std::span<const double> inputs) const;

  /// Keys of latents as far as they are not shared, of a matrix that the file has transposed.
  Bounded transposed_product(const MatrixSpec& matrix, const DecoderLayer& layer,
                             std::span<const double> inputs) const;
  /// What chooses experts, see choices_of().
  Bounded choices(const ExpertsSpec& experts, const Bounded& scores) const;
  /// The experts of each token, or a device's, tokens x used of any numbers, where rounding may
  /// decide between them and these: in the scores, and in all that was computed before them.
  std::vector<std::uint32_t> followed_experts(const ExpertsSpec& experts, Bounded scores,
                                              std::span<const std::uint32_t> of_device) const;

  /// Throws Error(input_failed) where the files no longer give the bytes that were used, see
  /// Weights::require_unchanged(). May be called by several threads at a time.
  void require_unchanged(std::span<const std::uint64_t> digests) const {
    weights_.require_unchanged(digests);
  }

  /// Forgets all tokens; needed after an exception, which leaves a part of the layers ahead.
  void reset();

 private:
  void check_weights() const;
  void project_latents(std::size_t number, LayerStages& stages) const;
  void attend(std::size_t number, LayerStages& stages, std::span<const std::uint64_t> positions);
  void follow_state(std::size_t number, LayerStages& stages,
                    std::span<const std::uint64_t> positions);
  void feed_forward(std::size_t number, LayerStages& stages,
                    std::span<const std::uint32_t> of_device) const;

  DecoderSpec spec_;
  Weights weights_;
  const CancelToken* cancel_;
  std::vector<double> frequencies_;
  std::vector<double> local_frequencies_;
  std::vector<KeyValues> caches_;
};

/// Of tokens with this many elements each, some of them.
std::vector<double> columns_of(std::span<const double> all, std::size_t width, std::size_t first,
                               std::size_t count);
/// Whole keys before rotation: of each head its own elements, then the shared ones of the latent.
std::vector<double> latent_keys(const DecoderSpec& spec, const DecoderLayer& layer,
                                std::span<const double> own, std::span<const double> latent);

/// "layer 3 (q)", "the output (logits)": where a stage computes.
std::string place_of_stage(std::optional<std::size_t> layer, std::string_view stage);
/// Error(input_failed): at this place every right device computes infinity or NaN.
Error leaves_range_error(const std::string& place);

}  // namespace hiptool::reference
