// SPDX-License-Identifier: MIT
/// What a config.json says about layers with a state, and about the experts next to them.
#pragma once
#include "model/config_fields.hpp"
#include "model/decoder_reading.hpp"

namespace hiptool::model {

/// Which layers have a state, and its sizes; the others get an output gate.
void read_config_delta(ConfigFields& config, const DecoderArchitecture& kind, DecoderSpec& spec);

/// Experts of all layers, with one that all tokens share.
void read_config_gated_experts(ConfigFields& config, const DecoderArchitecture& kind,
                               DecoderSpec& spec);

}  // namespace hiptool::model
