// SPDX-License-Identifier: MIT
// What gpt-oss has besides: sinks, biases everywhere, a clamped gate, windows in turn, and experts
// in MXFP4 as GGUF and as Hugging Face store them.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reference/prove/prove.hpp"
#include "support.hpp"
#include "unit/reference/prove/prove_samples.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

ProvedSample gpt_oss(ModelFormat format, const std::string& type, std::uint64_t seed = 1) {
  return ProvedSample(format, {"gpt-oss", RopeScaling::yarn, 5, false}, {type}, seed);
}

}  // namespace

TEST_CASE("gpt-oss: a right computation, whatever the file, the prompt and the chunks") {
  for (const auto& [format, type] :
       {std::pair{ModelFormat::gguf, "MXFP4"}, std::pair{ModelFormat::safetensors, "BF16"}}) {
    const ProvedSample sample = gpt_oss(format, type);
    CHECK(sample.spec.rope.truncates == (format == ModelFormat::gguf));
    CHECK(sample.spec.layers[0].window == 5);
    CHECK(sample.spec.layers[1].window == 0);
    CHECK(sample.spec.layers[2].window == 5);
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

TEST_CASE("gpt-oss: numbers and tensors that a device leaves out") {
  const ProvedSample sample = gpt_oss(ModelFormat::safetensors, "F32");
  const auto faulty = [&](const std::function<void(DecoderSpec&)>& change) {
    DecoderSpec spec = sample.spec;
    change(spec);
    return wrong_stage(sample.prove(spec, {}, 11));
  };
  CHECK(faulty([](DecoderSpec&) {}) == "");
  CHECK(faulty([](DecoderSpec& spec) { spec.layers[1].sinks.clear(); }) == "attention of 1");
  CHECK(faulty([](DecoderSpec& spec) { spec.layers[0].window = 6; }) == "attention of 0");
  CHECK(faulty([](DecoderSpec& spec) { spec.layers[2].window = 4; }) == "attention of 2");
  CHECK(faulty([](DecoderSpec& spec) { spec.layers[1].window = 5; }) == "attention of 1");
  CHECK(faulty([](DecoderSpec& spec) { spec.gate_limit = 7; }) == "activation of 0 1 2");
  CHECK(faulty([](DecoderSpec& spec) { spec.gate_slope = 1.7; }) == "activation of 0 1 2");
  CHECK(faulty([](DecoderSpec& spec) { spec.layers[2].experts.router.bias.clear(); }) ==
        "router of 2");
  CHECK(faulty([](DecoderSpec& spec) { spec.layers[1].experts.gate.bias.clear(); }) == "gate of 1");
  CHECK(faulty([](DecoderSpec& spec) {
          ExpertsSpec& experts = spec.layers[1].experts;
          std::swap(experts.gate.first_row, experts.up.first_row);
        }) == "gate of 1");
  CHECK(faulty([](DecoderSpec& spec) { spec.rope.truncates = true; }) == "rotated_q of 0 1 2");
}

TEST_CASE("gpt-oss: a bit of a sink, of a code and of an exponent") {
  ProvedSample sample = gpt_oss(ModelFormat::safetensors, "F32");
  const DecoderLayer& layer = sample.spec.layers[1];
  const auto flipped = [&](const std::string& tensor, const std::function<std::size_t()>& place,
                           std::byte bit) {
    sample.change(tensor, [&](std::span<std::byte> bytes) { bytes[place()] ^= bit; });
    const reference::ProveResult result = sample.prove();
    sample.restore(tensor);
    return result;
  };
  CHECK(wrong_stage(flipped(
            layer.sinks, [] { return 3 * 4 + 2; }, std::byte{1})) == "attention of 1");
  // Of every expert one row, because not all are used.
  const ExpertMatrices& down = layer.experts.down;
  const std::size_t row_bytes = static_cast<std::size_t>(down.columns) / 2;
  for (const bool is_scale : {false, true}) {
    const std::string& tensor = is_scale ? down.scales : down.weights.front();
    sample.change(tensor, [&](std::span<std::byte> bytes) {
      for (std::size_t expert = 0; expert < layer.experts.count; ++expert) {
        const std::size_t row = expert * static_cast<std::size_t>(down.rows) + 17;
        const std::size_t at = row * row_bytes + 48;
        bytes[is_scale ? at / 16 : at] ^= std::byte{0x01};
      }
    });
    const reference::ProveResult result = sample.prove();
    CHECK(wrong_stage(result) == "expert_down of 1");
    REQUIRE(result.first_wrong.has_value());
    CHECK(result.first_wrong->expert.has_value());
    CHECK(result.first_wrong->row % down.rows == 17);
    sample.restore(tensor);
  }
}

TEST_CASE("gpt-oss: a right device is never accused") {
  for (std::uint64_t seed = 1; seed <= (is_sanitized ? 4 : 100); ++seed) {
    CAPTURE(seed);
    const bool is_gguf = seed % 2 == 0;
    const ProvedSample sample = gpt_oss(is_gguf ? ModelFormat::gguf : ModelFormat::safetensors,
                                        is_gguf && seed % 4 == 0 ? "MXFP4" : "F32", seed);
    CHECK(wrong_stage(sample.prove(sample.spec, {}, 3)) == "");
  }
}
