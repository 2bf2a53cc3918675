// SPDX-License-Identifier: MIT
/// Decoding in which the device chooses the ids too, compared with decoding one by one.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/backend.hpp"
#include "hiptool/cancel.hpp"
#include "hiptool/error.hpp"
#include "hiptool/load.hpp"
#include "hiptool/model_runtime.hpp"
#include "hiptool/tensor.hpp"
#include "runtime/decode_tokens.hpp"
#include "runtime/steps_ahead.hpp"
#include "support.hpp"
#include "unit/model_writer/sample_models.hpp"
#include "unit/runtime/runtime_faults.hpp"
#include "unit/runtime/runtime_support.hpp"

using namespace hiptool;
using namespace hiptool::test;
using runtime::DecodedTokens;
using runtime::StepOrder;

namespace {

const std::vector<std::uint32_t> three_ids{5, 40, 300};
constexpr std::array both_orders{StepOrder::one_by_one, StepOrder::ahead};

struct Run {
  DecodedTokens found;
  std::optional<ErrorCode> error;
  std::string message;
};

bool is_same(const DecodedTokens& left, const DecodedTokens& right) {
  return left.ids == right.ids && left.logits_digest == right.logits_digest &&
         left.step_time_s.has_value() == right.step_time_s.has_value();
}

/// Cancels after that many ids; 0: never.
Run decode(ModelRuntime& runtime, std::uint64_t count, StepOrder order,
           std::uint64_t cancel_after = 0, const std::vector<std::uint32_t>& prompt = three_ids) {
  Run run;
  CancelToken cancel;
  std::vector<std::uint32_t> seen;
  run.found.on_id = [&] {
    seen.push_back(run.found.ids.back());
    if (seen.size() == cancel_after) cancel.cancel();
  };
  try {
    runtime::decode_tokens(runtime, prompt, count, {}, cancel, run.found, order);
  } catch (const Error& error) {
    run.error = error.code();
    run.message = error.what();
  }
  CHECK(seen == run.found.ids);
  return run;
}

/// An untied decoder whose weights a test changes.
struct OwnWeights {
  TemporaryFolder folder;
  ModelFile model =
      made_model(folder, ModelFormat::gguf, {"llama", RopeScaling::none, 0, false}, {"F32"});
  DecoderSpec spec = DecoderSpec::read(model);
  Platforms platforms;
  Backend backend{device(platforms)};
  LoadedModel loaded = load_model(model, backend.device());
  ModelRuntime runtime{backend, loaded, spec, of_context(24)};

  DecodedTokens decoded(std::uint64_t count) {
    runtime.reset();
    return decode(runtime, count, StepOrder::one_by_one).found;
  }
  std::vector<float> row(const char* name, std::uint64_t number) const {
    const Tensor weight = loaded.tensor(name);
    const std::vector<float> all = weight.to_host<float>();
    const auto start = all.begin() + static_cast<std::ptrdiff_t>(number * weight.dims()[1]);
    return {start, start + static_cast<std::ptrdiff_t>(weight.dims()[1])};
  }
  void set_row(const char* name, std::uint64_t number, const std::vector<float>& values) const {
    const Tensor weight = loaded.tensor(name);
    Tensor row = weight.with_layout(weight.layout().narrow(0, number, 1));
    row.copy_from_host<float>(values);
  }
  void fill_row(const char* name, std::uint64_t number, float value) const {
    set_row(name, number, std::vector<float>(spec.embedding, value));
  }
};

/// The calls that a run made.
std::vector<std::string_view> calls_of_run(const WatchedSample& sample, std::uint64_t count,
                                           StepOrder order, bool uses_graphs) {
  const Backend backend(sample.watched.device);
  ModelRuntime::Options options = of_context(40);
  options.uses_graphs = uses_graphs;
  ModelRuntime runtime(backend, sample.loaded, sample.spec, options);
  decode(runtime, 2, order);  // loads kernels
  runtime.reset();
  sample.table.reset();
  decode(runtime, count, order);
  return sample.table.trace();
}

}  // namespace

TEST_CASE("steps ahead: ids, digest and position are those of steps one by one") {
  const auto check = [](const Backend& backend, const LoadedModel& loaded,
                        const DecoderSpec& spec) {
    ModelRuntime runtime(backend, loaded, spec, of_context(16, 2));
    const Run expected = decode(runtime, 4, StepOrder::one_by_one);
    CHECK(!expected.error);
    CHECK(expected.found.ids.size() == 4);
    const std::uint64_t position = runtime.position();
    const std::vector<float> next = host_logits(runtime, {7});
    runtime.reset();
    const Run run = decode(runtime, 4, StepOrder::ahead);
    CHECK(!run.error);
    CHECK(is_same(run.found, expected.found));
    CHECK(runtime.position() == position);
    CHECK(host_logits(runtime, {7}) == next);
  };
  for_each_kind_of_decoder("qwen35", check);
}

TEST_CASE("steps ahead: whatever the number of tokens, none beyond the last is computed") {
  OwnWeights own;
  for (const std::uint64_t count : {0u, 1u, 2u, 3u, 8u}) {
    CAPTURE(count);
    const DecodedTokens expected = own.decoded(count);
    CHECK(expected.ids.size() == count);
    CHECK(expected.step_time_s.has_value() == (count > 1));
    const std::uint64_t position = own.runtime.position();
    CHECK(position == (count == 0 ? 0 : three_ids.size() + count - 1));
    for (const StepOrder order : {StepOrder::ahead, StepOrder::automatic}) {
      own.runtime.reset();
      const Run run = decode(own.runtime, count, order);
      CHECK(!run.error);
      CHECK(is_same(run.found, expected));
      CHECK(own.runtime.position() == position);
    }
  }
}

TEST_CASE("steps ahead: with longrope too each id is that of all tokens before it") {
  Platforms platforms;
  const Backend backend(device(platforms));
  const TemporaryFolder folder;
  const ModelFile model =
      made_model(folder, ModelFormat::gguf, {"llama", RopeScaling::longrope, 0, false}, {"F16"});
  const DecoderSpec spec = DecoderSpec::read(model);
  const LoadedModel loaded = load_model(model, backend.device());
  std::vector<std::uint64_t> contexts;
  const auto make = [&](std::uint64_t context_tokens) {
    contexts.push_back(context_tokens);
    return ModelRuntime(backend, loaded, spec, of_context(context_tokens));
  };
  const CancelToken cancel;
  std::vector<DecodedTokens> found(both_orders.size());
  for (std::size_t i = 0; i < both_orders.size(); ++i) {
    runtime::decode_tokens(make, spec.rope, prompt_ids(30), 6, {}, cancel, found[i],
                           both_orders[i]);
  }
  CHECK(found[0].ids.size() == 6);
  CHECK(is_same(found[0], found[1]));
  CHECK(contexts == std::vector<std::uint64_t>{32, 36, 32, 36});
}

TEST_CASE("steps ahead: of equal logits the lowest id follows") {
  OwnWeights own;
  const DecodedTokens before = own.decoded(4);
  const std::uint32_t second = before.ids[1];
  REQUIRE(second > 0);
  const std::vector<float> largest = own.row("output.weight", second);
  const std::uint32_t lower = second / 2;
  own.set_row("output.weight", lower, largest);
  own.set_row("output.weight", own.spec.vocabulary - 1, largest);
  const DecodedTokens expected = own.decoded(6);
  REQUIRE(expected.ids[1] == lower);
  own.runtime.reset();
  CHECK(is_same(decode(own.runtime, 6, StepOrder::ahead).found, expected));
  // All are 0 or -0.
  for (std::uint64_t id = 0; id < own.spec.vocabulary; ++id) {
    own.fill_row("output.weight", id, id % 2 == 0 ? -0.0F : 0.0F);
  }
  const DecodedTokens zeros = own.decoded(3);
  CHECK(zeros.ids == std::vector<std::uint32_t>{0, 0, 0});
  own.runtime.reset();
  CHECK(is_same(decode(own.runtime, 3, StepOrder::ahead).found, zeros));
}

TEST_CASE("steps ahead: logits that no token can be chosen from end decoding as one by one") {
  OwnWeights own;
  const DecodedTokens expected = own.decoded(5);
  std::set<std::uint32_t> different(expected.ids.begin(), expected.ids.end());
  REQUIRE(different.size() > 2);
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), infinity}) {
    CAPTURE(value);
    for (const std::size_t wrong : {0u, 1u}) {
      const std::uint32_t id = wrong == 0 ? three_ids.back() : expected.ids[wrong];
      const std::vector<float> right = own.row("token_embd.weight", id);
      own.fill_row("token_embd.weight", id, value);
      std::vector<Run> runs;
      for (const StepOrder order : both_orders) {
        own.runtime.reset();
        runs.push_back(decode(own.runtime, 5, order));
        CHECK(runs.back().error == ErrorCode::corrupt_data);
      }
      CHECK(runs[0].found.ids == runs[1].found.ids);
      CHECK(runs[0].message == runs[1].message);
      own.backend.synchronize();
      own.set_row("token_embd.weight", id, right);
      own.runtime.reset();
      CHECK(is_same(decode(own.runtime, 5, StepOrder::ahead).found, expected));
    }
  }
}

TEST_CASE("steps ahead: at the end of the context, and cancelled, the ids so far are kept") {
  OwnWeights own;
  const DecodedTokens expected = own.decoded(8);
  for (const StepOrder order : both_orders) {
    ModelRuntime small(own.backend, own.loaded, own.spec, of_context(three_ids.size() + 2));
    const Run run = decode(small, 8, order);
    CHECK(run.error == ErrorCode::out_of_bounds);
    CHECK(run.found.ids ==
          std::vector<std::uint32_t>(expected.ids.begin(), expected.ids.begin() + 3));
    CHECK(small.position() == three_ids.size() + 2);
    small.reset();
    CHECK(!decode(small, 3, order).error);
    for (const std::uint64_t after : {1u, 5u}) {
      own.runtime.reset();
      const Run cancelled = decode(own.runtime, 8, order, after);
      CHECK(cancelled.error == ErrorCode::cancelled);
      CHECK(cancelled.found.ids ==
            std::vector<std::uint32_t>(expected.ids.begin(),
                                       expected.ids.begin() + static_cast<std::ptrdiff_t>(after)));
    }
    own.runtime.reset();
    CHECK(is_same(decode(own.runtime, 8, order).found, expected));
  }
}

TEST_CASE("steps ahead: a step is queued before the host waits for the one before") {
  const WatchedSample sample;
  for (const StepOrder order : both_orders) {
    const std::vector<std::string_view> calls = calls_of_run(sample, 6, order, false);
    const auto launches = [&](std::string_view wait) {
      std::vector<std::uint64_t> counts{0};
      for (const std::string_view call : calls) {
        if (call == "hipModuleLaunchKernel") ++counts.back();
        if (call == wait) counts.push_back(0);
      }
      return counts;
    };
    if (order == StepOrder::one_by_one) {
      CHECK(std::count(calls.begin(), calls.end(), "hipEventSynchronize") == 1);  // of the timer
      CHECK(std::count(calls.begin(), calls.end(), "hipStreamSynchronize") > 12);
      continue;
    }
    const std::vector<std::uint64_t> counts = launches("hipEventSynchronize");
    REQUIRE(counts.size() >= 7);
    // The prompt and a step, four more steps, and none when the last logits are read.
    CHECK(counts[0] > counts[1]);
    for (std::size_t i = 1; i < 5; ++i) {
      CAPTURE(i);
      CHECK(counts[i] == counts[1]);
    }
    CHECK(counts[1] > 3 * sample.spec.layers.size());
    CHECK(counts[5] == 0);
    CHECK(std::count(calls.begin(), calls.end(), "hipMalloc") == 0);
  }
}

TEST_CASE("steps ahead: with a graph a step is one launch of it between two waits") {
  const WatchedSample sample;
  std::vector<std::uint64_t> counts{0};
  for (const std::string_view call : calls_of_run(sample, 6, StepOrder::ahead, true)) {
    if (call == "hipGraphLaunch") ++counts.back();
    if (call == "hipEventSynchronize") counts.push_back(0);
  }
  REQUIRE(counts.size() >= 7);
  CHECK(counts[0] >
        0);  // single tokens of the prompt too, of which there are more on slow machines
  for (std::size_t i = 1; i < 5; ++i) {
    CAPTURE(i);
    CHECK(counts[i] == 1);
  }
  CHECK(counts[5] == 0);
}

TEST_CASE("steps ahead: streams that finish late change no token") {
  const WatchedSample sample;
  const Backend backend(sample.watched.device);
  ModelRuntime runtime(backend, sample.loaded, sample.spec, of_context(40));
  const DecodedTokens expected = decode(runtime, 8, StepOrder::one_by_one).found;
  for (const std::uint64_t seed : {1u, 2u}) {
    CAPTURE(seed);
    sample.table.delay_streams(seed, std::chrono::milliseconds(2));
    runtime.reset();
    CHECK(is_same(decode(runtime, 8, StepOrder::ahead).found, expected));
    runtime.reset();
    CHECK(decode(runtime, 8, StepOrder::ahead, 4).error == ErrorCode::cancelled);
  }
}

TEST_CASE("steps ahead: an id that the device chose wrongly is named, with its device") {
  const WatchedSample sample;
  const Backend backend(sample.watched.device);
  ModelRuntime runtime(backend, sample.loaded, sample.spec, of_context(40));
  const auto decode_again = [&] {
    runtime.reset();
    return decode(runtime, 6, StepOrder::ahead, 0, {5});
  };
  const DecodedTokens expected = decode_again().found;
  // The prompt's id and logits are copied, then the logits and the id of each step.
  for (const std::uint64_t step : {1u, 4u, 5u}) {
    CAPTURE(step);
    sample.table.reset();
    sample.table.corrupt_copy(2 + 2 * step);
    const Run run = decode_again();
    CHECK(run.error == ErrorCode::data_mismatch);
    const std::uint32_t right = expected.ids[step - 1];
    CHECK(run.message == sample.watched.device.id() + " computes wrongly: its argmax chose token " +
                             std::to_string(right ^ 0xFF) + " for position " +
                             std::to_string(step) + ", but the largest logit is that of token " +
                             std::to_string(right));
    CHECK(run.found.ids ==
          std::vector<std::uint32_t>(expected.ids.begin(),
                                     expected.ids.begin() + static_cast<std::ptrdiff_t>(step)));
    CHECK(is_same(decode_again().found, expected));
  }
}

TEST_CASE("steps ahead: after a wrong id no fault that it led to is left") {
  OwnWeights own;
  const std::uint32_t right = own.decoded(1).ids[0];
  own.runtime.reset();
  runtime::StepsAhead ahead(own.runtime);
  ahead.add_prompt(own.runtime.decode_step(three_ids));
  ahead.next_copy().synchronize();
  CHECK(ahead.read(0).size() == own.spec.vocabulary);
  ahead.queue_step();
  const std::vector<std::uint32_t> beyond{static_cast<std::uint32_t>(own.spec.vocabulary)};
  own.runtime.decode_step(Tensor::from_host<std::uint32_t>(
      {own.backend.allocator(), own.backend.stream()}, beyond, {1}));
  ahead.next_copy().synchronize();
  CHECK(code_of([&] { static_cast<void>(ahead.read(right + 1)); }) == ErrorCode::data_mismatch);
  CHECK(!code_of([&] { own.backend.synchronize(); }));
  CHECK(ahead.read(right).size() == own.spec.vocabulary);
}
