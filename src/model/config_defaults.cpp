// SPDX-License-Identifier: MIT
// configuration_NAME.py of
// https://github.com/huggingface/transformers/tree/main/src/transformers/models
#include "model/config_defaults.hpp"

#include <algorithm>
#include <array>

namespace hiptool::model {
namespace {

constexpr std::array known{
    ConfigDefaults{"llama", 32, 4096, 32},
    ConfigDefaults{"mistral", 32, 4096, 32, 8},
    ConfigDefaults{"qwen2", 32, 4096, 32, 32},
    ConfigDefaults{"qwen3", 32, 4096, 32, 32, 128},
    ConfigDefaults{"qwen3_vl_text", 32, 4096, 32, 32, 128},
    ConfigDefaults{"qwen3_5_text", 32, 4096, 16, 4, 256},
    ConfigDefaults{"qwen3_5_moe_text", 40, 2048, 16, 2, 256},
    ConfigDefaults{"llama4_text", 48, 5120, 40, 8, 128},
    ConfigDefaults{"gpt_oss", 36, 2880, 64, 8, 64},
    ConfigDefaults{"gemma", 28, 3072, 16, 16, 256},
    ConfigDefaults{"gemma2", 26, 2304, 8, 4, 256},
    ConfigDefaults{"gemma3", 26, 2304, 8, 4, 256},  // its language part without a model_type
    ConfigDefaults{"gemma3_text", 26, 2304, 8, 4, 256},
    ConfigDefaults{"gemma3n_text", 35, 2048, 8, 2, 256},
    ConfigDefaults{"gemma4_text", 30, 2304, 8, 4, 256, 512, 512},
};

}  // namespace

const ConfigDefaults* find_config_defaults(std::string_view model) noexcept {
  const auto found = std::find_if(known.begin(), known.end(), [model](const ConfigDefaults& one) {
    return one.model == model;
  });
  return found == known.end() ? nullptr : &*found;
}

}  // namespace hiptool::model
