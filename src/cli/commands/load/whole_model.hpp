// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

#include "hiptool/backend.hpp"
#include "hiptool/decoder_spec.hpp"
#include "hiptool/load.hpp"
#include "hiptool/model_runtime.hpp"

namespace hiptool::cli {

/// The device that holds all of the model. Throws Error(invalid_argument), naming the option, for
/// one that is divided.
Device device_of_whole_model(const LoadedModel& model, const char* option);

/// Throws Error(input_failed) for weights without kernels, and what ModelRuntime throws.
ModelRuntime make_decoder(const Backend& backend, const LoadedModel& model, const DecoderSpec& spec,
                          const ModelRuntime::Options& options);

/// Throws Error(out_of_bounds) for an id that is not in the vocabulary.
void require_prompt(const DecoderSpec& spec, const std::vector<std::uint32_t>& prompt);

}  // namespace hiptool::cli
