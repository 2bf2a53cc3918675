// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string_view>

namespace hiptool::model {

/// What transformers takes for the fields that a config.json leaves out; 0: no fixed number.
struct ConfigDefaults {
  std::string_view model;  ///< model_type
  std::uint64_t layers = 0;
  std::uint64_t embedding_length = 0;
  std::uint64_t heads = 0;
  std::uint64_t kv_heads = 0;
  std::uint64_t head_length = 0;        ///< else the embedding divided by the heads
  std::uint64_t whole_head_length = 0;  ///< of layers without a window, where it differs
  std::uint64_t window = 0;
};

/// Null for a model_type whose defaults are not known.
const ConfigDefaults* find_config_defaults(std::string_view model) noexcept;

}  // namespace hiptool::model
