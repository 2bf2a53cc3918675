// SPDX-License-Identifier: MIT
/// What a config.json or a GGUF says about layers with a state, and about the experts next to them.
#pragma once
#include "model/config_fields.hpp"
#include "model/decoder_reading.hpp"
#include "model/gguf_keys.hpp"

namespace hiptool::model {

/// Which layers have a state, and its sizes; the others get an output gate.
void read_config_delta(ConfigFields& config, const DecoderArchitecture& kind, DecoderSpec& spec);

/// Experts of all layers, with one that all tokens share.
void read_config_gated_experts(ConfigFields& config, const DecoderArchitecture& kind,
                               DecoderSpec& spec);

/// The same of a GGUF. `blocks`: its layers, including layers of further tokens.
void read_delta_keys(GgufKeys& keys, const DecoderArchitecture& kind, std::uint64_t blocks,
                     DecoderSpec& spec);
/// The expert that all tokens share, before the size of the others is read.
void read_gated_expert_keys(GgufKeys& keys, DecoderSpec& spec);
/// Refuses sections of the rotary embedding that leave out a pair of elements: the numbers of text
/// are the same in all three of time, height and width.
void read_rope_sections(GgufKeys& keys, const DecoderSpec& spec);

}  // namespace hiptool::model
