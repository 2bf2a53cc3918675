// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hiptool::model {

/// How many bits a quantised weight has, and how many weights share a scale; 0: not stated.
struct Quantization {
  std::uint64_t bits = 0;
  std::uint64_t group_size = 0;
  // Of VPTQ, whose indices are as many for layers of different sizes.
  std::uint64_t inputs = 0;
  std::uint64_t outputs = 0;
  std::uint64_t vector_length = 0;
};

/// What the files next to a model say of its quantisation.
struct QuantizationConfig {
  std::string method;  ///< quant_method: "awq"; empty: not stated
  Quantization usual;
  std::vector<Quantization> groups;               ///< of compressed-tensors
  std::map<std::string, Quantization> by_module;  ///< of MLX and VPTQ
  std::map<std::string, std::uint64_t> patterns;  ///< of Gemma: bits by a pattern in the name

  /// Of the module with that name.
  const Quantization& of(std::string_view module) const;

  /// Bits of the module by Gemma's patterns; 0 where that takes more than plain text to decide.
  std::uint64_t bits_by_pattern(std::string_view module) const;

  /// False if the config states numbers of bits, and this is none of them.
  bool may_have(std::uint64_t bits) const;
};

/// Reads quantization_config (or `quantization`) of config.json, also in its text_config, else
/// quantize_config.json or quant_config.json, which older GPTQ and AWQ tools write.
QuantizationConfig read_quantization_config(const std::filesystem::path& folder);

}  // namespace hiptool::model
