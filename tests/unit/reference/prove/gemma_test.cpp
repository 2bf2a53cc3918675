// SPDX-License-Identifier: MIT
// What gemma3 has besides: norms with an offset and behind blocks, two rotary bases, layers with
// and without a window, and a scale of the embedding.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "reference/prove/prove.hpp"
#include "support.hpp"
#include "unit/reference/prove/prove_samples.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

ProvedSample gemma(ModelFormat format, const std::string& type = "F32", std::uint64_t seed = 1) {
  return ProvedSample(format, {"gemma3", RopeScaling::linear, 5, true}, {type}, seed);
}

}  // namespace

TEST_CASE("gemma3: a right computation, whatever the file, the prompt and the chunks") {
  for (const auto& [format, type] :
       {std::pair{ModelFormat::gguf, "Q4_0"}, std::pair{ModelFormat::safetensors, "BF16"}}) {
    const ProvedSample sample = gemma(format, type);
    CHECK(sample.spec.norm_offset == (format == ModelFormat::gguf ? 0 : 1));
    const reference::ProveResult whole = sample.prove(sample.spec, {}, 13);
    CHECK(wrong_stage(whole) == "");
    REQUIRE(whole.logits.has_value());
    CHECK(whole.logits->max_error < 0.1 * whole.logits->bound);
    for (const reference::LayerResult& layer : whole.layers) {
      CHECK(layer.max_error < 0.7 * layer.bound);
    }
    const reference::ProveResult in_chunks = sample.prove(sample.spec, {}, 13, 4);
    CHECK(wrong_stage(in_chunks) == "");
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(in_chunks.layers[i].max_error == whole.layers[i].max_error);
    }
    CHECK(wrong_stage(sample.prove(sample.spec, {}, 1)) == "");
  }
}

TEST_CASE("gemma3: numbers that only some layers have") {
  const ProvedSample sample = gemma(ModelFormat::gguf);
  const auto faulty = [&](const std::function<void(DecoderSpec&)>& change) {
    DecoderSpec spec = sample.spec;
    change(spec);
    return wrong_stage(sample.prove(spec, {}, 11));
  };
  CHECK(faulty([](DecoderSpec&) {}) == "");
  CHECK(faulty([](DecoderSpec& spec) { spec.local_rope.base = spec.rope.base; }) ==
        "rotated_q of 0 1");
  CHECK(faulty([](DecoderSpec& spec) { spec.rope.base = spec.local_rope.base; }) ==
        "rotated_q of 2");
  CHECK(faulty([](DecoderSpec& spec) { spec.rope.factor = 1; }) == "rotated_q of 2");
  CHECK(faulty([](DecoderSpec& spec) { spec.layers[1].window = 6; }) == "attention of 1");
  CHECK(faulty([](DecoderSpec& spec) { spec.layers[1].window = 4; }) == "attention of 1");
  CHECK(faulty([](DecoderSpec& spec) { spec.layers[2].window = 5; }) == "attention of 2");
  CHECK(faulty([](DecoderSpec& spec) { spec.gate = GateKind::silu; }) == "activation of 0 1 2");
  CHECK(faulty([](DecoderSpec& spec) { spec.norm_offset = 1; }) == "attention_norm of 0 1 2");
  CHECK(faulty([](DecoderSpec& spec) { spec.embedding_scale *= 1.001; }) == "embedding of");
  CHECK(faulty([](DecoderSpec& spec) { spec.attention_scale *= 1.001; }) == "attention of 0 1 2");
}

TEST_CASE("gemma3: a bit of a norm behind a block") {
  ProvedSample sample = gemma(ModelFormat::safetensors);
  const DecoderLayer& layer = sample.spec.layers[1];
  for (const auto& [tensor, stage] :
       {std::pair{layer.attention_post_norm, "attention_post_norm"},
        std::pair{layer.feed_forward_post_norm, "feed_forward_post_norm"}}) {
    sample.change(tensor, [](std::span<std::byte> bytes) { bytes[5 * 4 + 1] ^= std::byte{0x20}; });
    const reference::ProveResult result = sample.prove();
    CHECK(wrong_stage(result) == std::string(stage) + " of 1");
    REQUIRE(result.first_wrong.has_value());
    CHECK(result.first_wrong->tensor == tensor);
    CHECK(result.first_wrong->row == 5);
    sample.restore(tensor);
  }
}

TEST_CASE("gemma3: a right device is never accused") {
  for (std::uint64_t seed = 1; seed <= (is_sanitized ? 4 : 100); ++seed) {
    CAPTURE(seed);
    const ModelFormat format = seed % 2 == 0 ? ModelFormat::gguf : ModelFormat::safetensors;
    const ProvedSample sample = gemma(format, "F32", seed);
    CHECK(wrong_stage(sample.prove(sample.spec, {}, 3)) == "");
  }
}
