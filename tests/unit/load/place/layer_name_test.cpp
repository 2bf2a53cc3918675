// SPDX-License-Identifier: MIT
#include "load/place/layer_name.hpp"

#include <doctest/doctest.h>

using namespace hiptool::load;

TEST_CASE("layer names: GGUF and Hugging Face write them differently") {
  const auto layer_of = [](std::string_view name) -> std::int64_t {
    const LayerName place = read_layer_name(name);
    return place.section == Section::layer ? static_cast<std::int64_t>(place.layer) : -1;
  };
  CHECK(layer_of("blk.0.attn_q.weight") == 0);
  CHECK(layer_of("blk.127.attn_output.weight") == 127);
  CHECK(layer_of("model.layers.7.mlp.up_proj.weight") == 7);
  CHECK(layer_of("layers.3.norm") == 3);
  CHECK(layer_of("language_model.model.layers.11.norm.weight") == 11);
  CHECK(layer_of("transformer.h.5.ln_1.weight") == 5);
  CHECK(layer_of("model.layers.9.weight") == 9);
}

TEST_CASE("layer names: before and after the layers") {
  const auto section_of = [](std::string_view name) { return read_layer_name(name).section; };
  for (const char* name :
       {"token_embd.weight", "rope_freqs.weight", "model.embed_tokens.weight", "", ".", "blk",
        "blk.", "blk.x.a", "blk.-1.a", "blk.1", "blk.99999999999999999999.a", "layers",
        "vision_tower.layers.2.norm.weight", "model.visual.blk.1.a", "audio.output.weight",
        "outputs.weight"}) {
    CAPTURE(name);
    CHECK(section_of(name) == Section::before_layers);
  }
  for (const char* name : {"output.weight", "output_norm.weight", "lm_head.weight",
                           "model.norm.weight", "transformer.ln_f.weight"}) {
    CAPTURE(name);
    CHECK(section_of(name) == Section::after_layers);
  }
}
