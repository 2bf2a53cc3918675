// SPDX-License-Identifier: MIT
// What DeepSeek has besides: latents of queries, keys and values, leading dense layers, a shared
// expert, and experts that are chosen by their shares, a bias and groups.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "reference/prove/prove.hpp"
#include "support.hpp"
#include "unit/reference/prove/changed_stage.hpp"
#include "unit/reference/prove/prove_samples.hpp"
#include "unit/reference/prove/sample_checks.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

ProvedSample deepseek(ModelFormat format, const std::string& type, bool is_tied = false,
                      std::uint64_t seed = 1, const std::string& name = "deepseek2") {
  return ProvedSample(format, {name, RopeScaling::yarn, 0, is_tied}, {type}, seed);
}

}  // namespace

TEST_CASE("deepseek: a right computation, whatever the file, the prompt and the chunks") {
  using Sample = std::tuple<ModelFormat, std::string, bool, std::string>;
  for (const auto& [format, type, is_tied, name] :
       {Sample{ModelFormat::gguf, "F32", false, "deepseek2"},
        Sample{ModelFormat::gguf, "Q8_0", false, "deepseek2"},
        Sample{ModelFormat::gguf, "Q4_K", false, "deepseek2"},
        Sample{ModelFormat::gguf, "BF16", true, "deepseek2"},
        Sample{ModelFormat::safetensors, "F32", false, "deepseek2"},
        Sample{ModelFormat::safetensors, "BF16", true, "deepseek2"},
        Sample{ModelFormat::safetensors, "F32", false, "deepseek_v2"},
        Sample{ModelFormat::safetensors, "F16", true, "deepseek_v2"}}) {
    const std::string case_name = name + " " + type;
    CAPTURE(case_name);
    const ProvedSample sample = deepseek(format, type, is_tied, 1, name);
    const DecoderLayer& last = sample.spec.layers[2];
    CHECK(!sample.spec.layers[0].has_experts());
    CHECK(last.has_experts());
    CHECK(last.experts.has_shared());
    const bool is_split = format == ModelFormat::gguf && !is_tied && type != "Q4_K";
    CHECK(last.latent.up.weight.empty() == is_split);
    CHECK((last.latent.query_length == 0) == is_tied);
    check_right(sample, 13, {1U, 4U});
  }
}

TEST_CASE("deepseek: numbers that a device leaves out") {
  const ProvedSample sample = deepseek(ModelFormat::safetensors, "F32");
  const auto faulty = [&](const std::function<void(DecoderSpec&)>& change) {
    DecoderSpec spec = sample.spec;
    change(spec);
    return wrong_stage(sample.prove(spec, {}, 16));
  };
  CHECK(faulty([](DecoderSpec&) {}) == "");
  // The limit of groups, and what makes one good.
  CHECK(faulty([](DecoderSpec& spec) { spec.layers[1].experts.groups_used = 4; }) ==
        "experts of 1");
  CHECK(faulty([](DecoderSpec& spec) {
          for (DecoderLayer& layer : spec.layers) layer.experts.group_best = 1;
        }).starts_with("experts of"));
  CHECK(faulty([](DecoderSpec& spec) { spec.layers[1].experts.choice_bias.clear(); }) ==
        "experts of 1");
  CHECK(faulty([](DecoderSpec& spec) { spec.layers[2].experts.scale = 1; }) ==
        "expert_weights of 2");
  CHECK(faulty([](DecoderSpec& spec) { spec.layers[1].experts.is_normalised = false; }) ==
        "expert_weights of 1");
  CHECK(faulty([](DecoderSpec& spec) { spec.rope.pairs = RopePairs::halves; }) ==
        "rotated_q of 0 1 2");
  CHECK(faulty([](DecoderSpec& spec) { spec.rope.attention_factor *= 1.01; }) ==
        "rotated_q of 0 1 2");
  CHECK(faulty([](DecoderSpec& spec) {
          spec.attention_scale = 1 / std::sqrt(static_cast<double>(spec.key_length));
        }) == "attention of 0 1 2");
  CHECK(faulty([](DecoderSpec& spec) { spec.layers[1].latent.norm_epsilon *= 10; }) ==
        "query_latent_norm of 1");
  CHECK(faulty([](DecoderSpec& spec) { spec.norm_epsilon = 1e-6; }).substr(0, 14) ==
        "attention_norm");
}

TEST_CASE("deepseek: steps that a device leaves out") {
  const ProvedSample sample = deepseek(ModelFormat::gguf, "F32");
  const auto with = [&](std::size_t layer, const std::string& stage,
                        const ChangedStage::Change& change) {
    return ChangedStage(sample, layer, stage, change).prove();
  };
  using Seen = const std::map<std::string, std::vector<double>>&;
  CHECK(with(1, "down", [](Seen seen, std::vector<double>& values) {
          values = seen.at("routed");  // the shared expert
        }) == "down of 1");
  CHECK(with(2, "query_latent_norm", [](Seen seen, std::vector<double>& values) {
          values = seen.at("query_latent");
        }) == "query_latent_norm of 2");
  const std::size_t length = static_cast<std::size_t>(sample.spec.layers[0].latent.length);
  const std::size_t turned = static_cast<std::size_t>(sample.spec.rope.dimensions);
  CHECK(with(0, "latent_norm", [&](Seen seen, std::vector<double>& values) {
          for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = seen.at("latent")[i / length * (length + turned) + i % length];
          }
        }) == "latent_norm of 0");
  // The key that heads share, not rotated.
  const auto key = static_cast<std::size_t>(sample.spec.key_length);
  const auto heads = static_cast<std::size_t>(sample.spec.layers[0].heads);
  CHECK(with(1, "rotated_k", [&](Seen seen, std::vector<double>& values) {
          for (std::size_t i = 0; i < values.size(); ++i) {
            if (i % key < key - turned) continue;
            const std::size_t token = i / key / heads;
            values[i] =
                seen.at("latent")[token * (length + turned) + length + i % key - (key - turned)];
          }
        }) == "rotated_k of 1");
  // The bias of the choice in the weights as well.
  const ExpertsSpec& experts = sample.spec.layers[2].experts;
  const Tensor bias(sample.weights.at(experts.choice_bias), DType::f32, Layout{experts.count});
  const std::vector<float> biases = bias.to_host<float>(sample.backend.stream());
  const auto used = static_cast<std::size_t>(experts.used);
  CHECK(with(2, "expert_weights", [&](Seen seen, std::vector<double>& values) {
          for (std::size_t at = 0; at < values.size(); at += used) {
            double sum = 0;
            for (std::size_t i = at; i < at + used; ++i) {
              const auto id = static_cast<std::size_t>(seen.at("experts")[i]);
              const double score = seen.at("router")[at / used * biases.size() + id];
              values[i] = 1 / (1 + std::exp(-score)) + biases[id];
              sum += values[i];
            }
            for (std::size_t i = at; i < at + used; ++i) values[i] *= experts.scale / sum;
          }
        }) == "expert_weights of 2");
}

TEST_CASE("deepseek: a bit of each kind of matrix") {
  for (const bool is_split : {true, false}) {
    ProvedSample sample = deepseek(is_split ? ModelFormat::gguf : ModelFormat::safetensors, "F32");
    const DecoderLayer& layer = sample.spec.layers[1];
    const LatentSpec& latent = layer.latent;
    std::vector<std::pair<std::string, std::string>> places{
        {latent.query_down.weight, "query_latent of 1"},
        {latent.query_norm, "query_latent_norm of 1"},
        {layer.q.weight, "q of 1"},
        {latent.down.weight, "latent of 1"},
        {latent.norm, "latent_norm of 1"},
        {layer.experts.shared_up.weight, "shared_up of 1"},
        {layer.experts.shared_down.weight, "shared_down of 1"}};
    if (is_split) {
      places.emplace_back(latent.k_up.weight, "k of 1");
      places.emplace_back(latent.v_up.weight, "v of 1");
    } else {
      places.emplace_back(latent.up.weight, "keys_and_values of 1");
    }
    for (const auto& [name, expected] : places) {
      const std::string& tensor = name;
      CAPTURE(tensor);
      sample.change(tensor,
                    [](std::span<std::byte> bytes) { bytes[7 * 4 + 2] ^= std::byte{0x20}; });
      const reference::ProveResult result = sample.prove();
      CHECK(wrong_stage(result) == expected);
      if (result.first_wrong) CHECK(result.first_wrong->tensor == tensor);
      sample.restore(tensor);
    }
  }
}

TEST_CASE("deepseek: a right device is never accused") {
  for (std::uint64_t seed = 1; seed <= (is_sanitized ? 4 : 24); ++seed) {
    CAPTURE(seed);
    const bool is_gguf = seed % 2 == 0;
    const ProvedSample sample =
        deepseek(is_gguf ? ModelFormat::gguf : ModelFormat::safetensors, "F32", seed % 3 == 0, seed,
                 seed % 4 == 1 ? "deepseek_v2" : "deepseek2");
    CHECK(wrong_stage(sample.prove(sample.spec, {}, 3)) == "");
  }
}
