// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>

#include "model/config_fields.hpp"
#include "model/decoder_reading.hpp"

namespace hiptool::model {

/// Reads the blocks of "quantization_config" where its method is fp8; else it stays unread. Scales
/// of whole tensors or of rows are refused. `json`: the object whose fields are read.
void read_block_scales(const ConfigJson& json, ConfigFields& config,
                       const std::filesystem::path& path, DecoderTensors& tensors);

}  // namespace hiptool::model
