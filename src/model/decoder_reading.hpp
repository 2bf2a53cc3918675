// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "hiptool/decoder_spec.hpp"
#include "hiptool/model_file.hpp"
#include "model/decoder_architectures.hpp"

namespace hiptool::model {

inline constexpr std::uint64_t most_extent = (std::uint64_t{1} << 31) - 1;
inline constexpr std::uint64_t most_experts = 1024;          // of the router's kernel
inline constexpr std::uint64_t most_head_extent = 1u << 20;  // products stay below 2^64

/// What a reader of metadata says about the tensors.
struct DecoderTensors {
  const DecoderArchitecture* kind = nullptr;
  DecoderBiases biases = {};
  bool is_part = false;  ///< of a model with an encoder of images, whose tensors are not used
  std::uint64_t further_layers = 0;  ///< behind those that are computed, which change no logits
  bool lacks_head_norms = false;     ///< of config.json, where they are optional
  /// Of the scales of numbers in FP8; 0: such numbers have none.
  std::uint64_t block_rows = 0;
  std::uint64_t block_columns = 0;
};

/// Throws Error(input_failed): "FILE: CAUSE".
[[noreturn]] void refuse_decoder(const std::filesystem::path& file, const std::string& cause,
                                 const std::string& hint);

/// Fill the numbers of the specification, including the layers'.
DecoderTensors read_decoder_keys(const ModelFile& model, DecoderSpec& spec);
DecoderTensors read_decoder_config(const ModelFile& model, DecoderSpec& spec);

/// Names the tensors as the model's format does and checks that they are there with their shapes,
/// and no others.
void name_decoder_tensors(const ModelFile& model, const DecoderTensors& tensors, DecoderSpec& spec);

/// Whether a layer has a window where the last one of each period has none.
constexpr bool is_in_period(std::size_t layer, std::uint64_t period) noexcept {
  return layer % period < period - 1;
}

/// Which layers do not turn queries and keys, by their number or their window. `has_window`: the
/// metadata name one, be there layers with it or not.
void name_plain_layers(const DecoderArchitecture& kind, bool has_window, DecoderSpec& spec);

/// YaRN's multiplier of cosine and sine (Peng et al. 2023, section 3.4).
double yarn_attention_factor(double factor, double scale = 1);

}  // namespace hiptool::model
