// SPDX-License-Identifier: MIT
// Layers with a state (Gated DeltaNet), gated attention, and a shared expert with a score.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "reference/prove/delta.hpp"
#include "reference/prove/prove.hpp"
#include "support.hpp"
#include "unit/reference/prove/changed_stage.hpp"
#include "unit/reference/prove/prove_samples.hpp"
#include "unit/reference/prove/sample_checks.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

ProvedSample sample_with_states(const std::string& name = "qwen3_next",
                                const std::string& type = "F32", bool is_tied = false,
                                std::uint64_t seed = 1) {
  const bool is_gguf = name.find('_') == std::string::npos;
  return ProvedSample(is_gguf ? ModelFormat::gguf : ModelFormat::safetensors,
                      {name, RopeScaling::none, 0, is_tied}, {type}, seed);
}

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

using StageNumbers = std::vector<double>;
using SeenStages = const std::map<std::string, StageNumbers>&;

/// The rule written once more, with faults.
struct FaultyRule {
  bool has_decay = true;
  bool has_beta = true;
  bool has_correction = true;  ///< that the state knows already a part of the value
  bool keeps_state = true;     ///< over the first chunk's end
  bool shares_heads = true;    ///< value heads of one key head are neighbours
  StageNumbers state = {};

  void follow(const DeltaSpec& delta, SeenStages seen, StageNumbers& out, bool is_first) {
    const auto heads = static_cast<std::size_t>(delta.value_heads);
    const auto key_heads = static_cast<std::size_t>(delta.key_heads);
    const auto length = static_cast<std::size_t>(delta.key_length);
    const auto columns = static_cast<std::size_t>(delta.value_length);
    const auto channels = static_cast<std::size_t>(delta.channels());
    if (is_first || !keeps_state) state.assign(heads * length * columns, 0);
    const std::size_t tokens = out.size() / (heads * columns);
    for (std::size_t token = 0; token < tokens; ++token) {
      for (std::size_t head = 0; head < heads; ++head) {
        const std::size_t key_head = shares_heads ? head / (heads / key_heads) : head % key_heads;
        const double* const q = &seen.at("unit_q")[(token * key_heads + key_head) * length];
        const double* const k = &seen.at("unit_k")[(token * key_heads + key_head) * length];
        const double decay = has_decay ? seen.at("decays")[token * heads + head] : 1;
        const double beta = has_beta ? seen.at("betas")[token * heads + head] : 1;
        for (std::size_t j = 0; j < columns; ++j) {
          double* const own = &state[head * length * columns + j];
          double known = 0;
          for (std::size_t i = 0; i < length; ++i) known += (own[i * columns] *= decay) * k[i];
          const double v =
              seen.at("convolved")[token * channels + 2 * key_heads * length + head * columns + j];
          double sum = 0;
          for (std::size_t i = 0; i < length; ++i) {
            own[i * columns] += k[i] * beta * (v - (has_correction ? known : 0));
            sum += own[i * columns] * q[i];
          }
          out[(token * heads + head) * columns + j] = sum;
        }
      }
    }
  }
};

}  // namespace

TEST_CASE("delta: a right computation, whatever the file, the prompt and the chunks") {
  using Sample = std::tuple<std::string, std::string, bool>;
  for (const auto& [name, type, is_tied] :
       {Sample{"qwen3_next", "F32", false}, Sample{"qwen3_next", "BF16", true},
        Sample{"qwen3_5_text", "F32", true}, Sample{"qwen3_5_text", "F16", false},
        Sample{"qwen3_5_moe_text", "F32", false}, Sample{"qwen3next", "F32", true},
        Sample{"qwen3next", "Q4_K", false}, Sample{"qwen35", "F32", false},
        Sample{"qwen35", "Q8_0", true}, Sample{"qwen35moe", "F32", false},
        Sample{"qwen35moe", "Q6_K", true}}) {
    const std::string case_name = name + " " + type;
    CAPTURE(case_name);
    const ProvedSample sample = sample_with_states(name, type, is_tied);
    REQUIRE(sample.spec.layers.size() == 4);
    CHECK(sample.spec.layers[0].has_delta());
    CHECK(sample.spec.layers[1].has_delta());
    CHECK(sample.spec.layers[2].has_output_gate);
    CHECK(sample.spec.layers[3].has_delta());
    const bool is_gguf = sample.model.format() == ModelFormat::gguf;
    CHECK(sample.spec.norm_offset == (is_gguf ? 0 : 1));
    CHECK(sample.spec.layers[0].delta.is_tiled == (name == "qwen35" || name == "qwen35moe"));
    CHECK(sample.spec.rope.dimensions == sample.spec.key_length / 4 * 3);
    check_right(sample, 7, {1U, 3U}, type == "Q6_K" ? 0.2 : 0.1);  // 0.155; see the median
  }
}

TEST_CASE("delta: the usual error of logits with Q6_K") {
  const double share = median_logits_share(
      7, [](std::uint64_t seed) { return sample_with_states("qwen35moe", "Q6_K", true, seed); });
  CHECK(share > 0.03);
  CHECK(share < 0.15);  // 0.11 by this order of sums, 0.12 by one of rounded values
}

TEST_CASE("delta: numbers that are not those of the file") {
  const ProvedSample sample = sample_with_states();
  const auto faulty = [&](const std::function<void(DecoderSpec&)>& change) {
    DecoderSpec spec = sample.spec;
    change(spec);
    return wrong_stage(sample.prove(spec, {}, 4));
  };
  CHECK(faulty([](DecoderSpec&) {}) == "");
  CHECK(faulty([](DecoderSpec& spec) { spec.norm_offset = 0; }) == "attention_norm of 0 1 2 3");
  CHECK(faulty([](DecoderSpec& spec) { spec.rope.dimensions = 16; }) == "rotated_q of 2");
  CHECK(faulty([](DecoderSpec& spec) {
          std::swap(spec.layers[1].delta.decay_log, spec.layers[1].delta.step_bias);
        }) == "decays of 1");
  CHECK(faulty([](DecoderSpec& spec) {
          spec.layers[3].delta.decay_log = spec.layers[0].delta.decay_log;
        }) == "decays of 3");
  CHECK(faulty([](DecoderSpec& spec) {
          spec.layers[0].delta.convolution = spec.layers[1].delta.convolution;
        }) == "convolved of 0");
  CHECK(faulty([](DecoderSpec& spec) { spec.layers[3].delta.norm = spec.layers[1].delta.norm; }) ==
        "attention_heads_norm of 3");
  CHECK(faulty([](DecoderSpec& spec) {
          spec.layers[1].experts.shared_score = spec.layers[2].experts.shared_score;
        }) == "shared_score of 1");
  // Gates and up of all experts are in one tensor.
  const ProvedSample joined = sample_with_states("qwen3_5_moe_text");
  const auto faulty_joined = [&](const std::function<void(ExpertsSpec&)>& change) {
    DecoderSpec spec = joined.spec;
    change(spec.layers[1].experts);
    return wrong_stage(joined.prove(spec, {}, 4));
  };
  REQUIRE(joined.spec.layers[1].experts.up.tensor_rows == 2 * joined.spec.layers[1].feed_forward);
  CHECK(faulty_joined([](ExpertsSpec& experts) { std::swap(experts.gate, experts.up); }) ==
        "gate of 1");
  CHECK(faulty_joined([](ExpertsSpec& experts) { experts.up.first_row -= 1; }) == "up of 1");
}

TEST_CASE("delta: numbers of a GGUF taken for those of a folder") {
  const ProvedSample tiled = sample_with_states("qwen35");
  const ProvedSample grouped = sample_with_states("qwen3next");
  const auto faulty = [](const ProvedSample& sample,
                         const std::function<void(DecoderSpec&)>& change) {
    DecoderSpec spec = sample.spec;
    change(spec);
    return wrong_stage(sample.prove(spec, {}, 4));
  };
  for (const ProvedSample* sample : {&tiled, &grouped}) {
    CHECK(faulty(*sample, [](DecoderSpec&) {}) == "");
    CHECK(faulty(*sample, [](DecoderSpec& spec) {
            spec.layers[1].delta.is_tiled = !spec.layers[1].delta.is_tiled;
          }) == "attention of 1");
    CHECK(faulty(*sample, [](DecoderSpec& spec) { spec.layers[3].delta.has_rates = false; }) ==
          "decays of 3");
    CHECK(faulty(*sample, [](DecoderSpec& spec) { spec.norm_offset = 1; }) ==
          "attention_norm of 0 1 2 3");
  }
  CHECK(faulty(tiled, [](DecoderSpec& spec) {
          std::swap(spec.layers[0].delta.scores, spec.layers[0].delta.steps);
        }) == "scores of 0");
  // b and a of each key head in the other order.
  const auto heads = static_cast<std::size_t>(grouped.spec.layers[3].delta.value_heads);
  const auto of_one = heads / static_cast<std::size_t>(grouped.spec.layers[3].delta.key_heads);
  CHECK(ChangedStage(grouped, 3, "scores", [&](SeenStages seen, StageNumbers& values) {
          for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = seen.at("scores_and_steps")[i / of_one * 2 * of_one + of_one + i % of_one];
          }
        }).prove(4) == "scores of 3");
}

TEST_CASE("delta: weights of a GGUF on the device that are not as the converter makes them") {
  for (const char* name : {"qwen3next", "qwen35"}) {
    CAPTURE(name);
    ProvedSample sample = sample_with_states(name);
    const auto wrong_with = [&](const std::string& tensor,
                                const std::function<float(float)>& change) {
      sample.change(tensor, [&](std::span<std::byte> bytes) {
        std::vector<float> values(bytes.size() / sizeof(float));
        std::memcpy(values.data(), bytes.data(), bytes.size());
        for (float& value : values) value = change(value);
        std::memcpy(bytes.data(), values.data(), bytes.size());
      });
      const reference::ProveResult result = sample.prove(sample.spec, {}, 3);
      CHECK((result.first_wrong && result.first_wrong->tensor == tensor));
      sample.restore(tensor);
      return wrong_stage(result);
    };
    const auto without_one = [](float value) { return value - 1; };
    CHECK(wrong_with("blk.1.attn_norm.weight", without_one) == "attention_norm of 1");
    CHECK(wrong_with("blk.0.post_attention_norm.weight", without_one) == "feed_forward_norm of 0");
    CHECK(wrong_with("blk.2.attn_q_norm.weight", without_one) == "rotated_q of 2");
    CHECK(wrong_with("blk.3.ssm_norm.weight", [](float value) { return value + 1; }) ==
          "attention_heads_norm of 3");
    CHECK(wrong_with("blk.3.ssm_a", [](float value) { return -value; }) == "decays of 3");
    CHECK(wrong_with("blk.1.ssm_a", [](float value) { return std::log(-value); }) == "decays of 1");
  }
}

TEST_CASE("delta: steps that a device leaves out") {
  const ProvedSample sample = sample_with_states();
  const DeltaSpec& delta = sample.spec.layers[0].delta;
  const auto length = static_cast<std::size_t>(delta.key_length);
  const auto keys = static_cast<std::size_t>(delta.keys());
  const auto channels = static_cast<std::size_t>(delta.channels());
  const auto with = [&](std::size_t layer, const std::string& stage,
                        const ChangedStage::Change& change) {
    return ChangedStage(sample, layer, stage, change).prove(4);
  };
  // The norm of q and k.
  const auto not_unit = [&](std::size_t start) {
    return [=](SeenStages seen, StageNumbers& values) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = seen.at("convolved")[i / keys * channels + start + i % keys];
      }
    };
  };
  CHECK(with(0, "unit_q", not_unit(0)) == "unit_q of 0");
  CHECK(with(3, "unit_k", not_unit(keys)) == "unit_k of 3");
  CHECK(with(1, "unit_q", [&](SeenStages, StageNumbers& values) {
          for (double& value : values) value *= std::sqrt(static_cast<double>(length));
        }) == "unit_q of 1");
  CHECK(with(1, "betas", [](SeenStages, StageNumbers& values) {
          values.assign(values.size(), 1);
        }) == "betas of 1");
  CHECK(with(3, "decays", [](SeenStages, StageNumbers& values) {
          values.assign(values.size(), 1);
        }) == "decays of 3");
  CHECK(with(1, "gated_attention", [](SeenStages seen, StageNumbers& values) {
          values = seen.at("attention_heads_norm");
        }) == "gated_attention of 1");
  CHECK(with(0, "attention_heads_norm", [](SeenStages seen, StageNumbers& values) {
          values = seen.at("attention");
        }) == "attention_heads_norm of 0");
  CHECK(with(2, "gated_attention", [](SeenStages seen, StageNumbers& values) {
          values = seen.at("attention");
        }) == "gated_attention of 2");
  CHECK(with(2, "shared_gated", [](SeenStages seen, StageNumbers& values) {
          values = seen.at("shared_down");
        }) == "shared_gated of 2");
  // StageNumbers of the next token, and without the activation.
  CHECK(with(1, "convolved", [&](SeenStages, StageNumbers& values) {
          for (std::size_t i = 0; i + channels < values.size(); ++i) {
            values[i] = values[i + channels];
          }
        }) == "convolved of 1");
  // q and k of all heads in the order of the file.
  CHECK(with(0, "mixed", [&](SeenStages seen, StageNumbers& values) {
          const StageNumbers& all = seen.at("mixed_and_z");
          const std::size_t width = all.size() / (values.size() / channels);
          for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = all[i / channels * width + i % channels];
          }
        }) == "mixed of 0");
  CHECK(with(1, "steps", [](SeenStages seen, StageNumbers& values) {
          values = seen.at("scores");
        }) == "steps of 1");
}

TEST_CASE("delta: a state that is lost, of another sequence, or follows another rule") {
  bool is_of_gguf = false;
  SUBCASE("folder") {}
  SUBCASE("GGUF") { is_of_gguf = true; }
  const std::string name = is_of_gguf ? "qwen35" : "qwen3_5_text";
  const ProvedSample sample = sample_with_states(name);
  const DeltaSpec& delta = sample.spec.layers[1].delta;
  const auto with = [&](FaultyRule rule, std::uint64_t chunk_tokens, bool is_faulty = true) {
    return ChangedStage(sample, 1, "attention",
                        [&](SeenStages seen, StageNumbers& values) {
                          const bool is_first = seen.at("position").front() == 0;
                          if (is_faulty) rule.follow(delta, seen, values, is_first);
                        })
        .prove(5, chunk_tokens);
  };
  FaultyRule right;
  right.shares_heads = !is_of_gguf;
  CHECK(with(right, 128, false) == "");
  // No stage is wrong; decoding is not changed, and its last digits are others.
  CHECK(with(right, 3) == "decoded_logits of");
  CHECK(with(right, 128) == "decoded_logits of");
  FaultyRule rule = right;
  rule.keeps_state = false;
  CHECK(with(rule, 3) == "attention of 1");
  rule = right;
  rule.has_decay = false;
  CHECK(with(rule, 128) == "attention of 1");
  rule = right;
  rule.has_beta = false;
  CHECK(with(rule, 128) == "attention of 1");
  rule = right;
  rule.has_correction = false;
  CHECK(with(rule, 128) == "attention of 1");
  rule = right;
  rule.shares_heads = is_of_gguf;
  CHECK(with(rule, 128) == "attention of 1");
}

TEST_CASE("delta: the convolution of a chunk that begins one token late") {
  const ProvedSample sample = sample_with_states();
  const auto channels = static_cast<std::size_t>(sample.spec.layers[3].delta.channels());
  // The convolution without the tokens of the chunk before.
  const Tensor taps(sample.weights.at(sample.spec.layers[3].delta.convolution), DType::f32,
                    Layout{channels * 4});
  const std::vector<float> weights = taps.to_host<float>(sample.backend.stream());
  const auto convolve = [&](SeenStages seen, StageNumbers& values, std::size_t late) {
    for (std::size_t at = 0; at < values.size(); ++at) {
      double sum = 0;
      for (std::size_t tap = 0; tap < 4; ++tap) {
        const std::size_t place = at + tap * channels;
        if (place < (3 + late) * channels) continue;
        sum += weights[at % channels * 4 + tap] * seen.at("mixed")[place - (3 + late) * channels];
      }
      values[at] = sum * sigmoid_of(sum);
    }
  };
  for (const std::size_t late : {0U, 1U}) {
    const std::string found =
        ChangedStage(sample, 3, "convolved", [&](SeenStages seen, StageNumbers& values) {
          convolve(seen, values, late);
        }).prove(5, 3);
    CHECK(found == "convolved of 3");
  }
}

TEST_CASE("delta: a bit of each kind of tensor") {
  for (const std::string name : {"qwen3_next", "qwen3_5_moe_text", "qwen3next", "qwen35moe"}) {
    CAPTURE(name);
    ProvedSample sample = sample_with_states(name);
    const DecoderLayer& layer = sample.spec.layers[1];
    const DeltaSpec& delta = layer.delta;
    std::vector<std::pair<std::string, std::string>> places{
        {delta.mixed.weight, delta.has_mixed_z() ? "mixed_and_z of 1" : "mixed of 1"},
        {delta.scores.weight, delta.has_mixed_steps() ? "scores_and_steps of 1" : "scores of 1"},
        {delta.convolution, "convolved of 1"},
        {delta.norm, "attention_heads_norm of 1"},
        {layer.attention_output.weight, "attention_output of 1"},
        {layer.experts.shared_score.weight, "shared_score of 1"},
        {sample.spec.layers[2].q.weight, "queries_and_gates of 2"}};
    if (!delta.has_mixed_z()) places.emplace_back(delta.z.weight, "z of 1");
    if (!delta.has_mixed_steps()) places.emplace_back(delta.steps.weight, "steps of 1");
    for (const auto& [changed, expected] : places) {
      const std::string& tensor = changed;
      CAPTURE(tensor);
      sample.change(tensor,
                    [](std::span<std::byte> bytes) { bytes[7 * 4 + 2] ^= std::byte{0x20}; });
      const reference::ProveResult result = sample.prove(sample.spec, {}, 3);
      CHECK(wrong_stage(result) == expected);
      if (result.first_wrong) CHECK(result.first_wrong->tensor == tensor);
      sample.restore(tensor);
    }
    for (const std::string& tensor : {delta.decay_log, delta.step_bias}) {
      CAPTURE(tensor);
      sample.change(tensor,
                    [](std::span<std::byte> bytes) { bytes[3 * 4 + 2] ^= std::byte{0x20}; });
      CHECK(wrong_stage(sample.prove(sample.spec, {}, 3)) == "decays of 1");
      sample.restore(tensor);
    }
  }
}

TEST_CASE("delta: faults that the proof plants itself") {
  for (const char* name : {"qwen3_next", "qwen3_5_text", "qwen35", "qwen3next"}) {
    CAPTURE(name);
    const ProvedSample sample = sample_with_states(name);
    check_own_faults(sample);
  }
}

TEST_CASE("delta: a right device is never accused") {
  for (std::uint64_t seed = 1; seed <= (is_sanitized ? 2 : 6); ++seed) {
    CAPTURE(seed);
    constexpr std::array names{"qwen3_next", "qwen35moe", "qwen3_5_text",
                               "qwen3next",  "qwen35",    "qwen3_5_moe_text"};
    const std::string name = names.at((seed - 1) % names.size());
    const ProvedSample sample = sample_with_states(name, "F32", seed % 2 == 0, seed);
    CHECK(wrong_stage(sample.prove(sample.spec, {}, seed == 4 ? 70 : 3)) == "");
  }
}
