// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hip/abi.hpp"
#include "hiptool/backend.hpp"
#include "hiptool/error.hpp"
#include "hiptool/load.hpp"
#include "hiptool/model_runtime.hpp"
#include "support.hpp"
#include "unit/load/watched_device.hpp"
#include "unit/model_writer/sample_models.hpp"
#include "unit/runtime/runtime_faults.hpp"
#include "unit/runtime/runtime_support.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

/// What became of a runtime's life.
struct Life {
  std::string failed_step;  ///< empty: none
  std::optional<Error> error;
  std::vector<float> logits;
  std::vector<float> next;
};

/// From construction to cleaning up; a step that fails is repeated once.
Life live_once(const WatchedSample& sample) {
  Life life;
  const auto step = [&](const char* name, const std::function<void()>& work) {
    try {
      work();
    } catch (const Error& error) {
      CHECK(life.failed_step.empty());
      life.failed_step = name;
      life.error = error;
      work();
    }
  };
  std::optional<Backend> backend;
  step("backend", [&] { backend.emplace(sample.watched.device); });
  std::optional<ModelRuntime> runtime;
  step("construction",
       [&] { runtime.emplace(*backend, sample.loaded, sample.spec, of_context(8, 2)); });
  std::optional<Tensor> queued;
  // Reading may fail too, after the tokens were taken.
  const auto decode = [&](const std::vector<std::uint32_t>& ids, std::uint64_t position) {
    if (!queued) {
      CHECK(runtime->position() == position);
      queued = runtime->decode_step(ids);
    }
    const std::vector<float> logits = queued->to_host<float>(backend->stream());
    queued.reset();
    return logits;
  };
  step("first step", [&] { life.logits = decode({1, 2, 3}, 0); });
  step("second step", [&] { life.next = decode({4}, 3); });
  step("cleanup", [&] { runtime->cleanup(20); });
  runtime->cleanup(0);
  return life;
}

}  // namespace

TEST_CASE(
    "runtime: whichever call fails, it is named, nothing is lost and the step can be repeated") {
  const WatchedSample sample;
  sample.table.reset();
  const Life clean = live_once(sample);
  REQUIRE(clean.failed_step.empty());
  REQUIRE(sample.is_nothing_left());
  std::set<std::string> failed_steps;
  for (const auto& entry : calls_of(sample.table)) {
    const std::string& call = entry.first;
    for (const std::uint64_t nth : calls_to_fail(entry.first, entry.second)) {
      CAPTURE(call);
      CAPTURE(nth);
      sample.table.reset();
      sample.table.fail(call, hip::hipErrorUnknown, nth);
      const Life life = live_once(sample);
      CAPTURE(life.failed_step);
      CHECK(life.logits == clean.logits);
      CHECK(life.next == clean.next);
      CHECK(sample.is_nothing_left());
      if (harmless_calls.contains(call)) CHECK(life.failed_step.empty());
      if (life.failed_step.empty()) continue;
      failed_steps.insert(life.failed_step);
      CHECK(life.error->code() == ErrorCode::device);
      CHECK(std::string(life.error->what()).find(call) != std::string::npos);
    }
  }
  const std::set<std::string> all{"backend", "construction", "first step", "second step",
                                  "cleanup"};
  CHECK(failed_steps == all);
}

TEST_CASE("runtime: after a device was lost every call says so, and memory is released") {
  for (const char* call : {"hipModuleLaunchKernel", "hipStreamSynchronize", "hipMemcpyAsync"}) {
    CAPTURE(call);
    const WatchedSample sample;
    {
      const Backend backend(sample.watched.device);
      ModelRuntime runtime(backend, sample.loaded, sample.spec, of_context(8));
      const std::vector<float> logits = host_logits(runtime, {1, 2});
      sample.table.fail(call, hip::hipErrorIllegalAddress);
      CHECK(code_of([&] { host_logits(runtime, {3}); }) == ErrorCode::device_lost);
      sample.table.reset();
      CHECK(code_of([&] { host_logits(runtime, {3}); }) == ErrorCode::device_lost);
      CHECK(code_of([&] { runtime.cleanup(1); }) == ErrorCode::device_lost);
      CHECK(code_of([&] { ModelRuntime(backend, sample.loaded, sample.spec, of_context(8)); }) ==
            ErrorCode::device_lost);
      CHECK(sample.table.count("hipModuleLaunchKernel") == 0);
    }
    CHECK(sample.is_nothing_left());
  }
}

TEST_CASE("runtime: a token costs a layer seven launches, and five where products take norms") {
  const WatchedSample sample;
  const Backend backend(sample.watched.device);
  ModelRuntime::Options options = of_context(8);
  options.uses_graphs = false;
  ModelRuntime runtime(backend, sample.loaded, sample.spec, options);
  host_logits(runtime, {1});
  sample.table.reset();
  host_logits(runtime, {2});
  const bool take_norms = backend.device().platform() == Platform::nvidia;
  // One more where rows are no whole pieces, as those of `down` here. Then the embedding, the last
  // norm and the logits.
  const std::uint64_t of_layer = 1 + (take_norms ? 5 : 7);
  CHECK(sample.table.count("hipModuleLaunchKernel") ==
        of_layer * sample.spec.layers.size() + (take_norms ? 2 : 3));
}

TEST_CASE("runtime: without memory it is not made, and the device stays usable") {
  const WatchedSample sample;
  const Backend backend(sample.watched.device);
  const auto make = [&] {
    return ModelRuntime(backend, sample.loaded, sample.spec, of_context(8));
  };
  ModelRuntime first = make();
  const std::vector<float> expected = host_logits(first, {1, 2});
  const std::uint64_t cached = backend.allocator().release_cached();
  CHECK(cached > 0);
  const LiveCounts with_one = sample.table.live();
  sample.table.fail("hipMalloc", hip::hipErrorOutOfMemory, 1, 1000);
  CHECK_THROWS_WITH_AS(make(), doctest::Contains("KV cache and scratch memory for 8 tokens"),
                       Error);
  CHECK(code_of([&] { make(); }) == ErrorCode::out_of_memory);
  CHECK(code_of([&] { host_logits(first, {3}); }) == ErrorCode::out_of_memory);
  CHECK(first.position() == 2);
  CHECK((sample.table.live() - with_one).is_empty());
  sample.table.reset();
  // Memory that another program gives back in time.
  sample.table.fail("hipMalloc", hip::hipErrorOutOfMemory, 1, 2);
  ModelRuntime second = make();
  CHECK(host_logits(second, {1, 2}) == expected);
  CHECK(host_logits(first, {3}) == host_logits(second, {3}));
}

TEST_CASE("runtime: memory for the context is allocated when the runtime is made, and only then") {
  const WatchedSample sample;
  const Backend backend(sample.watched.device);
  ModelRuntime runtime(backend, sample.loaded, sample.spec, of_context(40, 8));
  host_logits(runtime, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  runtime.reset();
  sample.table.reset();
  for (std::uint32_t id = 0; id < 40; ++id) host_logits(runtime, {id});
  CHECK(sample.table.count("hipMalloc") == 0);
  CHECK(sample.table.count("hipFree") == 0);
}

TEST_CASE("runtime: refused tokens make no call at all") {
  const WatchedSample sample;
  const Backend backend(sample.watched.device);
  ModelRuntime runtime(backend, sample.loaded, sample.spec, of_context(4));
  host_logits(runtime, {1, 2});
  const auto refusal = [&](const std::vector<std::uint32_t>& ids) {
    sample.table.reset();
    const auto code = code_of([&] { runtime.decode_step(ids); });
    CHECK(sample.table.total_count() == 0);
    return code;
  };
  CHECK(refusal({}) == ErrorCode::invalid_argument);
  CHECK(refusal({331}) == ErrorCode::out_of_bounds);
  CHECK(refusal({1, ~std::uint32_t{0}}) == ErrorCode::out_of_bounds);
  CHECK(refusal({1, 2, 3}) == ErrorCode::out_of_bounds);
  CHECK(runtime.position() == 2);

  DecoderSpec other = sample.spec;
  other.layers[2].down.columns += 1;
  sample.table.reset();
  CHECK(code_of([&] { ModelRuntime(backend, sample.loaded, other, of_context(4)); }) ==
        ErrorCode::invalid_argument);
  other = sample.spec;
  other.output.weight = "nowhere";
  CHECK(code_of([&] { ModelRuntime(backend, sample.loaded, other, of_context(4)); }) ==
        ErrorCode::not_found);
  CHECK(code_of([&] { ModelRuntime(backend, sample.loaded, sample.spec, of_context(0)); }) ==
        ErrorCode::invalid_argument);
  CHECK(sample.table.total_count() == 0);
  runtime.cleanup(10);
  CHECK(refusal({1}) == ErrorCode::invalid_argument);
}

TEST_CASE("runtime: a stream that never becomes ready keeps all memory") {
  const WatchedSample sample;
  const Backend backend(sample.watched.device);
  std::optional<ModelRuntime> runtime(std::in_place, backend, sample.loaded, sample.spec,
                                      of_context(8));
  const std::vector<float> expected = host_logits(*runtime, {1, 2});
  const LiveCounts live = sample.table.live();
  for (const double limit_s : {0.0, 0.05}) {
    CAPTURE(limit_s);
    sample.table.reset();
    sample.table.fail("hipStreamQuery", hip::hipErrorNotReady, 1, 1'000'000);
    CHECK(code_of([&] { runtime->cleanup(limit_s); }) == ErrorCode::timed_out);
    // It looks again if it may wait; how often depends on the machine.
    CHECK(sample.table.count("hipStreamQuery") >= (limit_s > 0 ? 2 : 1));
    CHECK((sample.table.live() - live).is_empty());
    CHECK(sample.table.count("hipFree") == 0);
    CHECK(sample.table.count("hipStreamSynchronize") == 0);
  }
  for (const double limit_s : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
    CHECK(code_of([&] { runtime->cleanup(limit_s); }) == ErrorCode::invalid_argument);
  }
  sample.table.reset();
  runtime->reset();
  CHECK(host_logits(*runtime, {1, 2}) == expected);
  runtime->cleanup(20);
  CHECK(sample.table.live().device_memory < live.device_memory);
  runtime->cleanup(20);
  CHECK(runtime->memory_bytes() > 0);
}

TEST_CASE("runtime: devices that finish late wait for each other") {
  for (const auto& [decoder, type] :
       {std::pair{model_writer::SampleDecoder{"llama", RopeScaling::none, 0, true}, "F16"},
        std::pair{model_writer::SampleDecoder{"gpt-oss", RopeScaling::yarn, 5, false}, "MXFP4"}}) {
    const std::string architecture = decoder.architecture;
    CAPTURE(architecture);
    const TemporaryFolder folder;
    const ModelFile model = made_model(folder, ModelFormat::gguf, decoder, {type});
    const DecoderSpec spec = DecoderSpec::read(model);
    const auto binder = std::make_shared<WrapperBinder>(hip::make_registry());
    Platforms::Options options = Platforms::Options::from_environment();
    options.cpu_devices = 3;
    Platforms platforms = core::make_platforms(options, binder);
    const std::vector<Device> devices = platforms.devices(Platform::cpu);
    LoadOptions by_layer;
    by_layer.split.kind = SplitKind::layer;
    const LoadedModel loaded = load_model(model, devices, by_layer);
    std::vector<Backend> backends;
    for (const Device& device : devices) backends.emplace_back(device);
    WrapperTable& table = *binder->table(Platform::cpu);
    const auto decode = [&] {
      ModelRuntime runtime(backends, loaded, spec, of_context(24, 2));
      std::vector<float> logits = host_logits(runtime, prompt_ids(11));
      for (const std::uint32_t id : {5u, 17u}) {
        const std::vector<float> more = host_logits(runtime, {id});
        logits.insert(logits.end(), more.begin(), more.end());
      }
      return logits;
    };
    const std::vector<float> expected = decode();
    for (const std::uint64_t seed : {1u, 2u, 3u, 4u, 5u, 6u}) {
      CAPTURE(seed);
      table.delay_streams(seed, std::chrono::milliseconds(2));
      CHECK(decode() == expected);
    }
  }
}
