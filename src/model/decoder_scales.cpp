// SPDX-License-Identifier: MIT
#include "model/decoder_scales.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace hiptool::model {
namespace {

constexpr const char* quantization_member = "quantization_config";

// What says which modules have no scales, which their types say as well, and how programs round
// activations: here they are not rounded.
constexpr std::array<std::string_view, 4> harmless_of_fp8{
    "ignored_layers", "modules_to_not_convert", "quant_method", "scale_fmt"};

bool is_fp8(const ConfigJson& json) {
  const auto found = json.find(quantization_member);
  if (found == json.end() || !found->is_object()) return false;
  const auto method = found->find("quant_method");
  return method != found->end() && *method == "fp8";
}

}  // namespace

// transformers' utils/quantization_config.py (FineGrainedFP8Config), and DeepSeek V3's config.json.
void read_block_scales(const ConfigJson& json, ConfigFields& config,
                       const std::filesystem::path& path, DecoderTensors& tensors) {
  if (!is_fp8(json)) return;
  ConfigFields fields(*config.find(quantization_member), path,
                      std::string(quantization_member) + ".");
  if (fields.text("fmt").value_or("e4m3") != "e4m3") {
    fields.refuse("fmt", "which is not supported", "use a model in e4m3");
  }
  if (fields.text("activation_scheme").value_or("dynamic") != "dynamic") {
    fields.refuse("activation_scheme", "which is not supported", "use a model with dynamic");
  }
  constexpr const char* blocks = "weight_block_size";
  const ConfigJson* const size = fields.find(blocks);
  if (size == nullptr) {
    fields.refuse(blocks, "but only scales of blocks are supported",
                  "use a model with blocks of 128 x 128");
  }
  const std::string why = "which are not two numbers of rows and columns";
  if (!size->is_array() || size->size() != 2) fields.refuse(blocks, why);
  const auto extent = [&](std::size_t place) {
    const ConfigJson& number = (*size)[place];
    if (!number.is_number_unsigned()) fields.refuse(blocks, why);
    const auto value = number.get<std::uint64_t>();
    if (value == 0 || value > most_extent) fields.refuse(blocks, why);
    return value;
  };
  tensors.block_rows = extent(0);
  tensors.block_columns = extent(1);
  fields.refuse_others(harmless_of_fp8);
}

}  // namespace hiptool::model
