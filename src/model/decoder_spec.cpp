// SPDX-License-Identifier: MIT
#include "hiptool/decoder_spec.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <new>

#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "model/decoder_reading.hpp"
#include "model/model_kind.hpp"

namespace hiptool {
namespace model {

void refuse_decoder(const std::filesystem::path& file, const std::string& cause,
                    const std::string& hint) {
  throw Error(ErrorCode::input_failed, "read decoder", file.string() + ": " + cause, hint);
}

double yarn_attention_factor(double factor, double scale) {
  return factor <= 1 ? 1 : 0.1 * scale * std::log(factor) + 1;
}

void name_plain_layers(const DecoderArchitecture& kind, bool has_window, DecoderSpec& spec) {
  for (std::size_t number = 0; number < spec.layers.size(); ++number) {
    DecoderLayer& layer = spec.layers[number];
    if (kind.plain_period > 0) layer.has_rope = is_in_period(number, kind.plain_period);
    if (kind.has_rope_in_windows_only) layer.has_rope = layer.window > 0 || !has_window;
  }
}

namespace {

// What both kinds of metadata can get wrong.
void check_numbers(const ModelFile& model, const DecoderSpec& spec) {
  const auto refuse = [&](const std::string& cause) {
    refuse_decoder(model.path(), cause, "check the metadata; it contradicts itself");
  };
  if (spec.rope.dimensions == 0 || spec.rope.dimensions % 2 != 0 ||
      spec.rope.dimensions > spec.key_length) {
    refuse("a rotary embedding of " + base::plain_count_of(spec.rope.dimensions, "element") +
           " does not fit heads of " + std::to_string(spec.key_length));
  }
  for (std::size_t index = 0; index < spec.layers.size(); ++index) {
    const DecoderLayer& layer = spec.layers[index];
    if (layer.heads == 0 || layer.kv_heads == 0 || layer.heads % layer.kv_heads != 0) {
      refuse("layer " + std::to_string(index) + " has " + std::to_string(layer.heads) +
             " heads, which " + std::to_string(layer.kv_heads) +
             " heads of keys and values cannot serve");
    }
    const ExpertsSpec& experts = layer.experts;
    const bool has_whole_groups =
        experts.groups >= 1 && experts.count % experts.groups == 0 && experts.groups_used >= 1 &&
        experts.groups_used <= experts.groups &&
        experts.group_best * experts.groups <= std::max(experts.count, experts.groups) &&
        experts.used * experts.groups <=
            std::max<std::uint64_t>(1, experts.count) * experts.groups_used;
    if (layer.has_experts() && !has_whole_groups) {
      refuse("layer " + std::to_string(index) + " takes " + std::to_string(experts.used) + " of " +
             std::to_string(experts.count) + " experts from " +
             std::to_string(experts.groups_used) + " of " + std::to_string(experts.groups) +
             " groups");
    }
    if (layer.has_latent() && spec.rope.dimensions >= spec.key_length) {
      refuse("heads of " + std::to_string(spec.key_length) + " elements, of which " +
             std::to_string(spec.rope.dimensions) + " are rotated, leave none for the latent");
    }
  }
}

}  // namespace
}  // namespace model

DecoderSpec DecoderSpec::read(const ModelFile& model) {
  model::require_model(model, "read decoder");
  try {
    DecoderSpec spec;
    const bool is_gguf = model.format() == ModelFormat::gguf;
    const model::DecoderTensors tensors =
        is_gguf ? model::read_decoder_keys(model, spec) : model::read_decoder_config(model, spec);
    model::check_numbers(model, spec);
    model::name_decoder_tensors(model, tensors, spec);
    return spec;
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::host_out_of_memory, "read decoder",
                model.path().string() + ": host memory does not suffice for its description");
  }
}

std::string_view to_string(RopeScaling scaling) noexcept {
  switch (scaling) {
    case RopeScaling::none: return "none";
    case RopeScaling::linear: return "linear";
    case RopeScaling::yarn: return "yarn";
    case RopeScaling::llama3: return "llama3";
    case RopeScaling::longrope: return "longrope";
    case RopeScaling::dynamic: return "dynamic";
  }
  return "none";
}

}  // namespace hiptool
