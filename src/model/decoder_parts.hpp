// SPDX-License-Identifier: MIT
/// The tensors of a decoder's layer as lists, for what treats them alike.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "hiptool/decoder_spec.hpp"
#include "hiptool/model_file.hpp"

namespace hiptool::model {

/// In the order of computation, without the matrices of experts.
inline std::vector<const MatrixSpec*> matrices_of(const DecoderLayer& layer) {
  std::vector<const MatrixSpec*> all{&layer.q, &layer.k, &layer.v};
  if (layer.has_latent()) {
    const LatentSpec& latent = layer.latent;
    all = {&layer.q, &latent.down};
    if (latent.query_length > 0) all.insert(all.begin(), &latent.query_down);
    if (latent.up.weight.empty()) {
      all.insert(all.end(), {&latent.k_up, &latent.v_up});
    } else {
      all.push_back(&latent.up);
    }
  }
  if (layer.has_delta()) {
    all.clear();
    for (const MatrixSpec* matrix :
         {&layer.delta.mixed, &layer.delta.z, &layer.delta.scores, &layer.delta.steps}) {
      if (!matrix->weight.empty()) all.push_back(matrix);
    }
  }
  all.push_back(&layer.attention_output);
  if (layer.has_experts()) {
    const ExpertsSpec& experts = layer.experts;
    all.push_back(&experts.router);
    if (experts.has_shared()) {
      all.insert(all.end(), {&experts.shared_gate, &experts.shared_up, &experts.shared_down});
    }
    if (!experts.shared_score.weight.empty()) all.push_back(&experts.shared_score);
  } else {
    all.insert(all.end(), {&layer.gate, &layer.up, &layer.down});
  }
  return all;
}

/// Empty without experts.
inline std::vector<const ExpertMatrices*> expert_matrices_of(const DecoderLayer& layer) {
  if (!layer.has_experts()) return {};
  return {&layer.experts.gate, &layer.experts.up, &layer.experts.down};
}

/// Of q_norm or k_norm, with this number of heads.
inline std::uint64_t norm_elements(const DecoderSpec& spec, std::uint64_t heads) {
  return spec.has_row_norms ? heads * spec.key_length : spec.key_length;
}

/// Of matrices with scales as f32, which a device keeps besides the file's bytes.
inline std::uint64_t expanded_bytes(const DecoderSpec& spec) {
  std::uint64_t elements = 0;
  const auto add = [&](const MatrixSpec& matrix) {
    if (!matrix.scales.empty()) elements += matrix.rows * matrix.columns;
  };
  for (const DecoderLayer& layer : spec.layers) {
    for (const MatrixSpec* matrix : matrices_of(layer)) add(*matrix);
    for (const ExpertMatrices* experts : expert_matrices_of(layer)) {
      elements += experts->block_scales.size() * experts->rows * experts->columns;
    }
  }
  add(spec.output);
  return elements * sizeof(float);
}

struct VectorPart {
  const std::string* tensor;
  std::uint64_t elements;
};

/// Those that the layer has, without biases.
inline std::vector<VectorPart> vectors_of(const DecoderSpec& spec, const DecoderLayer& layer) {
  std::vector<VectorPart> all;
  for (const VectorPart& part :
       {VectorPart{&layer.attention_norm, spec.embedding},
        VectorPart{&layer.q_norm, norm_elements(spec, layer.heads)},
        VectorPart{&layer.k_norm, norm_elements(spec, layer.kv_heads)},
        VectorPart{&layer.attention_post_norm, spec.embedding},
        VectorPart{&layer.sinks, layer.heads}, VectorPart{&layer.feed_forward_norm, spec.embedding},
        VectorPart{&layer.feed_forward_post_norm, spec.embedding},
        VectorPart{&layer.latent.query_norm, layer.latent.query_length},
        VectorPart{&layer.latent.norm, layer.latent.length},
        VectorPart{&layer.experts.choice_bias, layer.experts.count},
        VectorPart{&layer.delta.convolution, layer.delta.channels() * layer.delta.taps},
        VectorPart{&layer.delta.decay_log, layer.delta.value_heads},
        VectorPart{&layer.delta.step_bias, layer.delta.value_heads},
        VectorPart{&layer.delta.norm, layer.delta.value_length}}) {
    if (!part.tensor->empty()) all.push_back(part);
  }
  return all;
}

/// Tensors that kernels read in the type that the file has: all that the description names but
/// codes of FP8 with scales of blocks and those of packed experts, which have kernels of their own.
/// Whatever else is in the file takes no part in the arithmetic. Some are there twice.
inline std::vector<std::string> plainly_read_tensors(const DecoderSpec& spec) {
  std::vector<std::string> all{spec.embedding_tensor, spec.output_norm, spec.rope.divisors_tensor,
                               spec.rope.long_divisors_tensor};
  const auto add = [&](const MatrixSpec& matrix) {
    all.push_back(matrix.scales.empty() ? matrix.weight : matrix.scales);
    all.push_back(matrix.bias);
  };
  add(spec.output);
  for (const DecoderLayer& layer : spec.layers) {
    for (const MatrixSpec* matrix : matrices_of(layer)) add(*matrix);
    for (const ExpertMatrices* experts : expert_matrices_of(layer)) {
      const auto& plain = experts->block_scales.empty() ? experts->weights : experts->block_scales;
      if (experts->scales.empty()) all.insert(all.end(), plain.begin(), plain.end());
      all.push_back(experts->bias);
    }
    for (const VectorPart& part : vectors_of(spec, layer)) all.push_back(*part.tensor);
  }
  std::erase(all, std::string());
  return all;
}

}  // namespace hiptool::model
