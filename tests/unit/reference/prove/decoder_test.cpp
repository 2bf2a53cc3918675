// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hiptool/decoder_spec.hpp"
#include "hiptool/error.hpp"
#include "model/element_types.hpp"
#include "model_writer/decoder_values.hpp"
#include "model_writer/model_writer.hpp"
#include "reference/prove/reference_decoder.hpp"
#include "reference/prove/values.hpp"
#include "support.hpp"
#include "unit/model_writer/sample_models.hpp"

using namespace hiptool;
using namespace hiptool::model_writer;
using namespace hiptool::test;

TEST_CASE("decoder: the reference computes the logits of transformers") {
  double largest = 0;
  for (const Golden& golden : goldens) {
    const std::string_view format = to_string(golden.format);
    CAPTURE(format);
    CAPTURE(golden.architecture);
    CAPTURE(to_string(golden.rope));
    CAPTURE(golden.window);
    CAPTURE(golden.type);
    CAPTURE(golden.tokens);
    const TemporaryFolder folder;
    const ModelFile model = made_model(folder, golden);
    const DecoderSpec spec = DecoderSpec::read(model);
    CHECK(spec.is_tied == golden.is_tied);
    reference::ReferenceOptions options;
    options.sequence_tokens = golden.tokens;
    reference::ReferenceDecoder decoder(model, spec, options);
    const std::vector<double> all = decoder.decode(prompt_ids(golden.tokens));
    REQUIRE(all.size() == 331);
    std::vector<double> kept;
    for (std::size_t i = 0; i < all.size(); i += 5) kept.push_back(all[i]);
    const double difference = largest_difference(kept, golden.logits) / golden.deviation;
    CHECK(difference <= 2e-6);
    if (difference > largest) largest = difference;
  }
  MESSAGE("largest difference ", largest, " standard deviations");
}

TEST_CASE("decoder: each type of GGUF's weights has logits of transformers") {
  CHECK(weight_types(true).size() == 29);
  for (const std::string_view type : weight_types(true)) {
    CAPTURE(type);
    CHECK(std::any_of(goldens.begin(), goldens.end(), [&](const Golden& golden) {
      return golden.format == ModelFormat::gguf && golden.type == type;
    }));
  }
}

TEST_CASE("decoder: token by token, and with the inputs of a layer given, the same logits") {
  const TemporaryFolder folder;
  const ModelFile model =
      made_model(folder, ModelFormat::gguf, {"qwen3", RopeScaling::yarn, 3, false}, {"Q4_0"});
  reference::ReferenceDecoder decoder(model, DecoderSpec::read(model), {.threads = 3});
  const std::vector<std::uint32_t> ids = prompt_ids(7);
  const std::vector<double> at_once = decoder.decode(ids);
  decoder.reset();
  std::vector<double> one_by_one;
  for (const std::uint32_t id : ids) one_by_one = decoder.decode({&id, 1});
  CHECK(largest_difference(at_once, one_by_one) <= 1e-12);

  decoder.reset();
  std::vector<double> x = decoder.embed(ids);
  const std::vector<std::uint64_t> positions{0, 1, 2, 3, 4, 5, 6};
  const std::size_t width = x.size() / ids.size();
  for (std::size_t layer = 0; layer < decoder.spec().layers.size(); ++layer) {
    reference::LayerStages stages;
    x = decoder.layer(layer, x, positions, &stages);
    CHECK(stages.middle.size() == x.size());
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(x[i] == stages.middle[i] + stages.down[i]);
  }
  const std::vector<double> by_layer = decoder.logits(std::span(x).last(width));
  CHECK(largest_difference(at_once, by_layer) == 0);
}

TEST_CASE("decoder: what is asked of it must fit") {
  const TemporaryFolder folder;
  const ModelFile model =
      made_model(folder, ModelFormat::gguf, {"llama", RopeScaling::none, 0, false}, {"F32"});
  reference::ReferenceDecoder decoder(model, DecoderSpec::read(model));
  const auto refused = [](const std::function<void()>& work) {
    return code_of(work) == ErrorCode::invalid_argument;
  };
  const std::vector<std::uint32_t> past_the_end{331};
  CHECK(refused([&] { decoder.embed(past_the_end); }));
  const std::vector<double> x(96);
  const std::vector<std::uint64_t> first{4};
  CHECK(refused([&] { decoder.layer(3, x, first); }));
  CHECK(refused([&] { decoder.layer(0, std::vector<double>(95), first); }));
  decoder.layer(0, x, first);
  CHECK(refused([&] { decoder.layer(0, x, first); }));
  CHECK(refused([&] { decoder.decode({}); }));
}

TEST_CASE("decoder: every type of weights makes a model that computes") {
  for (const ModelFormat format : {ModelFormat::gguf, ModelFormat::safetensors}) {
    // The goldens have all of these, too.
    if (is_sanitized && format == ModelFormat::gguf) continue;
    for (const std::string_view type : weight_types(format == ModelFormat::gguf)) {
      CAPTURE(type);
      const TemporaryFolder folder;
      const ModelFile model =
          made_model(folder, format, {"llama", RopeScaling::none, 0, false}, {std::string(type)});
      reference::ReferenceDecoder decoder(model, DecoderSpec::read(model));
      const std::vector<double> logits = decoder.decode(prompt_ids(2));
      double squares = 0;
      for (const double logit : logits) squares += logit * logit;
      const double root = std::sqrt(squares / static_cast<double>(logits.size()));
      CHECK(root > 0.3);
      CHECK(root < 30);
    }
  }
  const TemporaryFolder folder;
  const ModelFile mixed =
      made_model(folder, ModelFormat::gguf, {"qwen2", RopeScaling::none, 0, true}, {"all"});
  const DecoderSpec spec = DecoderSpec::read(mixed);
  CHECK(spec.layers.size() == 4);
  CHECK(reference::ReferenceDecoder(mixed, spec).decode(prompt_ids(1)).size() == 331);
}

TEST_CASE("decoder: types and architectures that make no decoder are refused") {
  const auto refusal = [](ModelFormat format, SampleDecoder decoder, const char* type) {
    const TemporaryFolder folder;
    return code_of([&] { made_model(folder, format, std::move(decoder), {type}); }) ==
           ErrorCode::invalid_argument;
  };
  CHECK(refusal(ModelFormat::gguf, {"llama"}, "I8"));
  CHECK(refusal(ModelFormat::gguf, {"llama"}, "Q8_K"));
  CHECK(refusal(ModelFormat::safetensors, {"llama"}, "U8"));
  CHECK(refusal(ModelFormat::gguf, {"mistral"}, "F32"));
  CHECK(refusal(ModelFormat::gguf, {"gpt2"}, "F32"));
  CHECK(refusal(ModelFormat::safetensors, {"llama", RopeScaling::none, 5}, "F32"));
  CHECK(refusal(ModelFormat::gguf, {"qwen2", RopeScaling::llama3}, "F32"));
}
