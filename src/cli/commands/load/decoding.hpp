// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "hiptool/backend.hpp"
#include "hiptool/decoder_spec.hpp"
#include "hiptool/load.hpp"
#include "hiptool/model_runtime.hpp"

namespace hiptool::cli {

/// Throws Error(input_failed), naming the tensor, for weights of a type without kernels: before a
/// load, by the same rule as ModelRuntime after it, and so for the weights that it uses alone.
void require_weight_types(const ModelFile& model, const DecoderSpec& spec);

/// Throws Error(out_of_bounds) for an id that is not in the vocabulary.
void require_prompt(const DecoderSpec& spec, const std::vector<std::uint32_t>& prompt);

/// Throws Error(invalid_argument) where the split divides layers among the devices.
void require_whole_layers(SplitKind split, std::span<const Device> devices);

/// Each device that holds the whole model by itself, else all that hold a part of it together.
std::vector<std::vector<Backend>> computing_groups(const LoadedModel& model);

/// Throws what ModelRuntime throws, but Error(input_failed) for what it does not support, since the
/// model and not the command is what cannot be used.
ModelRuntime make_decoder(std::span<const Backend> backends, const LoadedModel& model,
                          const DecoderSpec& spec, const ModelRuntime::Options& options);

/// Bytes of the weights on the device that every token needs: all but the embedding, of which it
/// reads one row, unless the embedding is the output too.
std::uint64_t bytes_of_token(const LoadedModel& model, const DecoderSpec& spec,
                             const Device& device);

}  // namespace hiptool::cli
