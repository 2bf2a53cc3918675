// SPDX-License-Identifier: MIT
// What GLM-4.5 has besides: a part of a head that is turned, norms of heads that only some models
// have, and DeepSeek's experts behind ordinary attention.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "reference/prove/prove.hpp"
#include "support.hpp"
#include "unit/reference/prove/prove_samples.hpp"
#include "unit/reference/prove/sample_checks.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

ProvedSample glm(ModelFormat format, const std::string& type, bool is_tied = false,
                 std::uint64_t seed = 1) {
  return ProvedSample(format, {"glm4moe", RopeScaling::yarn, 0, is_tied}, {type}, seed);
}

}  // namespace

TEST_CASE("glm4moe: a right computation, whatever the file, the prompt and the chunks") {
  using Sample = std::tuple<ModelFormat, std::string, bool>;
  for (const auto& [format, type, is_tied] :
       {Sample{ModelFormat::gguf, "F32", false}, Sample{ModelFormat::gguf, "Q8_0", true},
        Sample{ModelFormat::gguf, "Q4_K", false}, Sample{ModelFormat::safetensors, "F32", true},
        Sample{ModelFormat::safetensors, "BF16", false},
        Sample{ModelFormat::safetensors, "F8_E4M3", false}}) {
    const std::string case_name = type;
    CAPTURE(case_name);
    const ProvedSample sample = glm(format, type, is_tied);
    const DecoderLayer& last = sample.spec.layers.back();
    CHECK(sample.spec.layers.size() == 3);
    CHECK(sample.spec.rope.dimensions * 2 == sample.spec.key_length);
    CHECK(!sample.spec.layers[0].has_experts());
    CHECK(last.experts.has_shared());
    CHECK(!last.experts.choice_bias.empty());
    CHECK(last.q_norm.empty() == is_tied);
    CHECK(!last.q.bias.empty());
    CHECK((last.experts.groups > 1) == (format == ModelFormat::safetensors));
    const reference::ProveResult whole = sample.prove(sample.spec, {}, 13);
    CHECK(wrong_stage(whole) == "");
    REQUIRE(whole.logits.has_value());
    CHECK(whole.logits->max_error < 0.1 * whole.logits->bound);
    for (const reference::LayerResult& layer : whole.layers) {
      CHECK(layer.max_error > 0);
      CHECK(layer.max_error < 0.8 * layer.bound);
    }
    CHECK(wrong_stage(sample.prove(sample.spec, {}, 13, 4)) == "");
    CHECK(wrong_stage(sample.prove(sample.spec, {}, 1)) == "");
  }
}

TEST_CASE("glm4moe: numbers that a device leaves out or takes from another model") {
  const ProvedSample sample = glm(ModelFormat::safetensors, "F32");
  const auto faulty = [&](const std::function<void(DecoderSpec&)>& change) {
    DecoderSpec spec = sample.spec;
    change(spec);
    return wrong_stage(sample.prove(spec, {}, 16));
  };
  CHECK(faulty([](DecoderSpec&) {}) == "");
  CHECK(faulty([](DecoderSpec& spec) { spec.rope.dimensions = spec.key_length; }) ==
        "rotated_q of 0 1 2");
  CHECK(faulty([](DecoderSpec& spec) { spec.rope.dimensions -= 2; }) == "rotated_q of 0 1 2");
  CHECK(faulty([](DecoderSpec& spec) { spec.rope.pairs = RopePairs::neighbours; }) ==
        "rotated_q of 0 1 2");
  CHECK(faulty([](DecoderSpec& spec) { spec.layers[1].q_norm.clear(); }) == "rotated_q of 1");
  CHECK(faulty([](DecoderSpec& spec) { spec.layers[2].k_norm.clear(); }) == "rotated_k of 2");
  CHECK(faulty([](DecoderSpec& spec) { spec.layers[1].k.bias.clear(); }) == "k of 1");
  CHECK(faulty([](DecoderSpec& spec) {
          for (DecoderLayer& layer : spec.layers) layer.experts.groups_used = 4;
        }).starts_with("experts of"));
  CHECK(faulty([](DecoderSpec& spec) { spec.layers[1].experts.choice_bias.clear(); }) ==
        "experts of 1");
  CHECK(faulty([](DecoderSpec& spec) { spec.layers[2].experts.scale = 1; }) ==
        "expert_weights of 2");
  CHECK(faulty([](DecoderSpec& spec) { spec.layers[1].experts.is_normalised = false; }) ==
        "expert_weights of 1");
  CHECK(faulty([](DecoderSpec& spec) { spec.norm_epsilon = 1e-6; }).starts_with("attention_norm"));
}

TEST_CASE("glm4moe: a bit of each kind of matrix") {
  ProvedSample sample = glm(ModelFormat::gguf, "F32");
  const DecoderLayer& layer = sample.spec.layers[1];
  for (const auto& [name, expected] : std::vector<std::pair<std::string, std::string>>{
           {layer.q_norm, "rotated_q of 1"},
           {layer.feed_forward_norm, "feed_forward_norm of 1"},
           {layer.experts.shared_gate.weight, "shared_gate of 1"},
           {layer.experts.router.weight, "router of 1"}}) {
    const std::string& tensor = name;
    CAPTURE(tensor);
    sample.change(tensor, [](std::span<std::byte> bytes) { bytes[3 * 4 + 2] ^= std::byte{0x20}; });
    const reference::ProveResult result = sample.prove();
    CHECK(wrong_stage(result) == expected);
    if (result.first_wrong) CHECK(result.first_wrong->tensor == tensor);
    sample.restore(tensor);
  }
}

TEST_CASE("glm4moe: faults that the proof plants itself, also in numbers of FP8") {
  for (const char* type : {"F32", "F8_E4M3"}) {
    CAPTURE(type);
    const ProvedSample sample = glm(ModelFormat::safetensors, type);
    check_own_faults(sample);
  }
}

TEST_CASE("glm4moe: a right device is never accused") {
  for (std::uint64_t seed = 1; seed <= (is_sanitized ? 3 : 10); ++seed) {
    CAPTURE(seed);
    const bool is_gguf = seed % 2 == 0;
    const ProvedSample sample =
        glm(is_gguf ? ModelFormat::gguf : ModelFormat::safetensors, "F32", seed % 3 == 0, seed);
    CHECK(wrong_stage(sample.prove(sample.spec, {}, 3)) == "");
  }
}
