// SPDX-License-Identifier: MIT
/// What a config.json says about latents, and about experts that count by their shares.
#pragma once
#include <cstdint>
#include <filesystem>

#include "model/config_fields.hpp"
#include "model/decoder_reading.hpp"

namespace hiptool::model {

/// The experts of all layers behind the first, whose number the config has.
void read_config_shares(ConfigFields& config, const DecoderArchitecture& kind, DecoderSpec& spec);

/// Sizes of heads and latents; the number of heads is known.
void read_config_latents(ConfigFields& config, DecoderSpec& spec);

/// The number of layers that predict further tokens.
std::uint64_t read_further_layers(ConfigFields& config);

/// The order of rotated pairs, and the factor of all scores that YaRN has here; the other fields of
/// the rotary embedding are known.
void read_config_latent_rope(ConfigFields& config, const std::filesystem::path& path,
                             DecoderSpec& spec);

}  // namespace hiptool::model
