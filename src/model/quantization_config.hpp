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

  /// Of the module with that name.
  const Quantization& of(std::string_view module) const;
};

/// Reads quantization_config (or `quantization`) of config.json, also in its text_config, else
/// quantize_config.json or quant_config.json, which older GPTQ and AWQ tools write.
QuantizationConfig read_quantization_config(const std::filesystem::path& folder);

}  // namespace hiptool::model
