// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hiptool/backend.hpp"
#include "hiptool/decoder_spec.hpp"
#include "hiptool/load.hpp"
#include "hiptool/model_runtime.hpp"
#include "hiptool/ops_experts.hpp"
#include "hiptool/ops_model.hpp"
#include "hiptool/tensor.hpp"

namespace hiptool::runtime {

/// The tensor of that name on that device. Throws Error(not_found).
using FindWeight = std::function<Weight(const std::string& tensor, const Device& device)>;

/// Weights of a model that was loaded, which must outlive the function; or in Buffers by the names
/// of its tensors, all of the device that is asked for (else Error(invalid_argument)).
FindWeight weights_of(const LoadedModel& model);
FindWeight weights_of(const ModelFile& model, const ModelRuntime::BuffersByName& weights);

struct DecoderPlaces;

/// y = W x + b.
struct DeviceMatrix {
  ops::QuantisedTensor weight;
  std::optional<Tensor> bias;  ///< f32 [rows]
};

/// The same of each expert.
struct DeviceExpertMatrices {
  ops::ExpertTensors weights;
  std::optional<ops::ExpertBias> bias;
};

struct MlpWeights {
  DeviceMatrix gate, up, down;
};

struct ExpertWeights {
  DeviceMatrix router;
  DeviceExpertMatrices gate, up, down;
  std::optional<Tensor> choice_bias;
  std::optional<MlpWeights> shared;
  std::optional<DeviceMatrix> shared_score;
};

/// Of LatentSpec; `up`, or `k_up` and `v_up`.
struct LatentWeights {
  DeviceMatrix down;
  Tensor norm;
  std::optional<DeviceMatrix> up, k_up, v_up, query_down;
  std::optional<Tensor> query_norm;
};

/// Of DeltaSpec.
struct DeltaWeights {
  DeviceMatrix mixed, scores;
  std::optional<DeviceMatrix> z, steps;
  Tensor convolution, decay_log, step_bias, norm;
  Tensor unit_q, unit_k;  ///< by which RMS norms of heads are multiplied, key_length elements
};

struct LayerWeights {
  std::optional<Tensor> attention_norm;
  std::optional<DeviceMatrix> q;     ///< or delta
  std::optional<DeviceMatrix> k, v;  ///< or latent, or delta
  std::optional<Tensor> q_norm, k_norm;
  DeviceMatrix attention_output;
  std::optional<Tensor> attention_post_norm, feed_forward_post_norm;
  std::optional<Tensor> sinks;
  std::optional<Tensor> feed_forward_norm;
  std::optional<MlpWeights> mlp;  ///< or experts
  std::optional<ExpertWeights> experts;
  std::optional<LatentWeights> latent;
  std::optional<DeltaWeights> delta;
};

/// The tensors of a decoder, each where its step computes; vectors are f32, norms with their
/// offset.
struct DecoderWeights {
  ops::QuantisedTensor embedding;
  Tensor output_norm;
  DeviceMatrix output;
  std::vector<LayerWeights> layers;
};

/// Throws Error(not_found), Error(unsupported) and Error(invalid_argument), naming the tensor, for
/// one that is missing, without kernels or of another size than the specification has. Queues
/// nothing.
void check_weights(std::span<const Backend> backends, const DecoderPlaces& places,
                   const DecoderSpec& spec, const FindWeight& find);

/// Queues the conversion of vectors that are not F32, and of matrices with scales of blocks.
DecoderWeights find_weights(std::span<const Backend> backends, const DecoderPlaces& places,
                            const DecoderSpec& spec, const FindWeight& find);

/// A vector of any type as f32 [count]: in place where it is F32, else its conversion is queued.
Tensor find_vector(const Backend& backend, const FindWeight& find, const std::string& tensor,
                   std::uint64_t count);

}  // namespace hiptool::runtime
