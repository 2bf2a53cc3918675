// SPDX-License-Identifier: MIT
// Logits that are farther from float64 than a constant: right where all that they follow from is.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reference/prove/prove.hpp"
#include "support.hpp"
#include "unit/reference/prove/prove_samples.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

constexpr std::uint32_t nine_tokens = 9;

/// Adds to a value of a stage, of one token that comes alone, the first that many times.
reference::ProveOptions altered_token(const ProvedSample& sample, std::string name,
                                      std::uint64_t position, std::size_t place,
                                      std::size_t times) {
  reference::ProveOptions options;
  options.alter = [=, &sample, count = std::size_t{0}](const DecoderStage& stage) mutable {
    const bool is_last = !stage.layer || stage.layer == 2u;
    if (stage.name != name || !is_last || stage.position != position) return;
    if (stage.values.dims()[0] != 1 || count++ >= times) return;
    const std::vector<float> numbers = stage.values.to_host<float>(stage.stream);
    std::vector<double> values(numbers.begin(), numbers.end());
    values.at(place) += 1;
    write_values(sample.backend, stage.values, values);
  };
  return options;
}

}  // namespace

TEST_CASE("amplified: a right device is right, however small the bound of logits is") {
  for (const char* architecture : {"llama", "gemma2", "cohere2", "qwen3moe"}) {
    CAPTURE(architecture);
    const ProvedSample sample(ModelFormat::gguf, {architecture}, {"F16"});
    for (const std::uint64_t chunk_tokens : {128u, 4u}) {
      reference::ProveOptions options;
      const reference::ProveResult usual =
          sample.prove(sample.spec, options, nine_tokens, chunk_tokens);
      CHECK(usual.is_right());
      CHECK(!usual.logits->is_amplified);
      options.logits_bound = 0;
      const reference::ProveResult closer =
          sample.prove(sample.spec, options, nine_tokens, chunk_tokens);
      CHECK(wrong_stage(closer) == "");
      CHECK(closer.logits->max_error > closer.logits->bound);
      CHECK(closer.logits->is_amplified);
    }
  }
}

TEST_CASE("amplified: what only a token before the last one meets is named") {
  const ProvedSample sample(ModelFormat::gguf, {"llama"}, {"F16"});
  for (const char* stage : {"logits", "output_norm"}) {
    CAPTURE(stage);
    const reference::ProveResult result =
        sample.prove(sample.spec, altered_token(sample, stage, 5, 17, 100), nine_tokens);
    CHECK(!result.is_right());
    CHECK(!result.logits->is_amplified);
    REQUIRE(result.first_wrong.has_value());
    CHECK(result.first_wrong->stage == stage);
    CHECK(result.first_wrong->position == 5);
    CHECK(result.first_wrong->row == 17);
    CHECK(result.first_wrong->repeats == true);
    CHECK(result.first_wrong->device == sample.backend.device().id());
  }
}

TEST_CASE("amplified: values of a token that come and go are wrong") {
  const ProvedSample sample(ModelFormat::gguf, {"llama"}, {"F16"});
  const reference::ProveResult once =
      sample.prove(sample.spec, altered_token(sample, "logits", 5, 17, 1), nine_tokens);
  REQUIRE(once.first_wrong.has_value());
  CHECK(once.first_wrong->stage == "decoded_logits");
  CHECK(once.first_wrong->position == 5);
  CHECK(once.first_wrong->row == 17);
  CHECK(once.first_wrong->repeats == false);

  // Outputs of layers that alone are other ones than among all.
  const reference::ProveResult alone =
      sample.prove(sample.spec, altered_token(sample, "output", 5, 17, 100), nine_tokens);
  CHECK(!alone.is_right());
  CHECK(!alone.logits->repeats);
  CHECK(!alone.logits->is_amplified);
}
