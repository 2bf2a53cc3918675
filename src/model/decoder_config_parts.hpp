// SPDX-License-Identifier: MIT
/// Members of a config.json that one family of decoders has.
#pragma once
#include "hiptool/decoder_spec.hpp"
#include "model/config_fields.hpp"
#include "model/decoder_architectures.hpp"

namespace hiptool::model {

/// A decoder behind an encoder of images, which "text_config" describes.
bool is_with_images(const ConfigJson& json);

/// How many experts there are, and how many a token uses. transformers 5 saves their number by the
/// name num_local_experts, some files next to an older one: the numbers must be equal.
ExpertsSpec read_expert_counts(ConfigFields& config, const char* older_name = nullptr);
/// sqrt(embedding) as transformers has it: an f32, rounded to the type of the embedding.
double embedding_scale_of(const ModelFile& model, std::uint64_t embedding);
/// Experts of gpt-oss, all in one tensor.
void read_packed_experts(ConfigFields& config, DecoderSpec& spec);
void read_mixtral_experts(ConfigFields& config, DecoderSpec& spec);
/// Those of phi3 that change nothing.
void read_neutral_fields(ConfigFields& config);
/// The scale of logits, and fields of cohere2 that say what every model of it has.
void read_cohere_fields(ConfigFields& config, DecoderSpec& spec);
/// Of embedding, scores, residuals and logits.
void read_multipliers(ConfigFields& config, DecoderSpec& spec);
/// Which layers do not turn queries and keys; windows are read. `has_types`: by layer_types.
void read_plain_layers(ConfigFields& config, const DecoderArchitecture& kind, bool has_types,
                       DecoderSpec& spec);

}  // namespace hiptool::model
