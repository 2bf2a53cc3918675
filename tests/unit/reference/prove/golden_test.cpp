// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/error.hpp"
#include "reference/prove/golden.hpp"
#include "support.hpp"
#include "unit/reference/prove/prove_samples.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

constexpr std::uint32_t token_count = 5;

/// A golden of a small model, and what a device computes compared with it.
struct GoldenSample {
  ProvedSample sample{ModelFormat::gguf, {"llama"}, {"F32"}};
  mutable reference::ReferenceDecoder reference{
      sample.model, sample.spec, {.sequence_tokens = token_count}};
  reference::Golden golden = reference::make_golden(reference, prompt_ids(token_count));

  reference::ProveResult check(const reference::ProveOptions& options = {}) const {
    ModelRuntime::Options sizes;
    sizes.context_tokens = token_count;
    ModelRuntime runtime(sample.backend, sample.model, sample.weights, sample.spec, sizes);
    return reference::check_golden(runtime, reference, golden, options);
  }

  /// Changes an output of layer 1, the first that many times that it is computed.
  reference::ProveOptions altered(std::size_t place, double value, std::size_t times) const {
    reference::ProveOptions options;
    options.alter = [=, this, count = std::size_t{0}](const DecoderStage& stage) mutable {
      if (stage.name != "output" || stage.layer != 1u || count++ >= times) return;
      const std::vector<float> numbers = stage.values.to_host<float>(stage.stream);
      std::vector<double> values(numbers.begin(), numbers.end());
      values.at(place) = value;
      write_values(sample.backend, stage.values, values);
    };
    return options;
  }
};

}  // namespace

TEST_CASE("golden: right values, and a wrong one that a closer look names") {
  const GoldenSample sample;
  const reference::ProveResult right = sample.check();
  CHECK(right.is_right());
  CHECK(right.layers.size() == 3);
  const reference::ProveResult wrong = sample.check(sample.altered(2 * 96 + 7, 100, 1000));
  REQUIRE(wrong.first_wrong.has_value());
  CHECK(wrong.first_wrong->layer == 1u);
  CHECK(wrong.first_wrong->stage == "output");
  CHECK(wrong.first_wrong->position == 2);
  CHECK(wrong.first_wrong->row == 7);
  CHECK(wrong.first_wrong->rows == 96);
  CHECK(wrong.first_wrong->device == sample.sample.backend.device().id());
}

TEST_CASE("golden: NaN is worse than every number that follows it") {
  const GoldenSample sample;
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    CAPTURE(value);
    const reference::ProveResult result = sample.check(sample.altered(7, value, 1));
    REQUIRE(result.first_wrong.has_value());
    CHECK(result.first_wrong->position == 0);
    CHECK(!std::isfinite(result.first_wrong->got));
    CHECK(result.first_wrong->wrong_values >= 16);
    REQUIRE(result.layers.size() >= 2);
    CHECK(!(result.layers[1].max_error <= result.layers[1].bound));
  }
}

TEST_CASE("golden: where a closer look finds nothing, a sum is named and not an element") {
  const GoldenSample sample;
  const reference::ProveResult result = sample.check(sample.altered(3 * 96 + 7, 100, 1));
  CHECK(!result.is_right());
  REQUIRE(result.first_wrong.has_value());
  CHECK(result.first_wrong->layer == 1u);
  CHECK(result.first_wrong->stage == "output_projections");
  CHECK(result.first_wrong->position == 3);
  CHECK(result.first_wrong->rows == reference::Golden::signs);
  CHECK(result.first_wrong->wrong_values == 16);
  CHECK(std::abs(result.first_wrong->got - result.first_wrong->expected) >
        result.first_wrong->bound);
}

TEST_CASE("golden: a right device is right beyond the bounds, where it is proved and repeats") {
  const GoldenSample sample;
  reference::ProveOptions options;
  options.logits_bound = 0;
  const reference::ProveResult right = sample.check(options);
  CHECK(right.is_right());
  REQUIRE(right.logits.has_value());
  CHECK(right.logits->is_amplified);
  CHECK(right.layers.size() == 3);
  // A logit that was another one once, by less than a golden would find.
  options.alter = [&, count = 0](const DecoderStage& stage) mutable {
    if (stage.name != "logits" || count++ > 0) return;
    const std::vector<float> numbers = stage.values.to_host<float>(stage.stream);
    std::vector<double> values(numbers.begin(), numbers.end());
    values[5] += 1e-5;
    write_values(sample.sample.backend, stage.values, values);
  };
  CHECK(!sample.check(options).is_right());
}

TEST_CASE("golden: where the reference agrees with the device, the golden is wrong") {
  for (const bool is_sum : {true, false}) {
    GoldenSample sample;
    if (is_sum) {
      sample.golden.projections[(2 * token_count + 1) * reference::Golden::signs] += 1;
    } else {
      sample.golden.logits[300] += 1;
    }
    try {
      sample.check();
      FAIL_CHECK("the device was judged");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::corrupt_data);
      CHECK(
          std::string(error.what()).find(is_sum ? "golden's sums of layer 1" : "golden's logits") !=
          std::string::npos);
      CHECK(error.hint().find("--write-golden") != std::string::npos);
    }
  }
}

TEST_CASE("golden: a cancellation keeps the layers that were compared") {
  const GoldenSample sample;
  CancelToken cancel;
  reference::ProveResult so_far;
  reference::ProveOptions options = sample.altered(7, 100, 1);
  options.cancel = &cancel;
  options.so_far = &so_far;
  options.alter = [&, alter = options.alter](const DecoderStage& stage) {
    alter(stage);
    if (stage.layer == 2u && stage.name == "output") cancel.cancel();
  };
  CHECK(code_of([&] { sample.check(options); }) == ErrorCode::cancelled);
  REQUIRE(so_far.layers.size() == 2);
  CHECK(so_far.layers[0].layer == 0);
  CHECK(!so_far.layers[0].wrong);
  CHECK(so_far.layers[1].wrong.has_value());
  CHECK(!so_far.first_wrong);
}

TEST_CASE("golden: a cancellation of the closer look keeps them too") {
  const GoldenSample sample;
  CancelToken cancel;
  reference::ProveResult so_far;
  reference::ProveOptions options = sample.altered(7, 100, 1);
  options.cancel = &cancel;
  options.so_far = &so_far;
  int passes = 0;
  options.alter = [&, alter = options.alter](const DecoderStage& stage) {
    alter(stage);
    if (stage.name == "embedding" && ++passes == 2) cancel.cancel();
  };
  CHECK(code_of([&] { sample.check(options); }) == ErrorCode::cancelled);
  REQUIRE(so_far.layers.size() == 2);
  CHECK(!so_far.layers[0].wrong);
  CHECK(so_far.layers[1].wrong.has_value());
}
