// SPDX-License-Identifier: MIT
/// Layers of a token that are queued as one graph, compared with launches one by one.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "hiptool/backend.hpp"
#include "hiptool/error.hpp"
#include "hiptool/load.hpp"
#include "hiptool/model_runtime.hpp"
#include "hiptool/ops.hpp"
#include "support.hpp"
#include "unit/model_writer/sample_models.hpp"
#include "unit/runtime/runtime_faults.hpp"
#include "unit/runtime/runtime_support.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

using AllLogits = std::vector<std::vector<float>>;

const std::vector<std::uint32_t> one_by_one{7, 300, 5, 41, 90};

ModelRuntime::Options launched_each(std::uint64_t tokens) {
  ModelRuntime::Options options = of_context(tokens);
  options.uses_graphs = false;
  return options;
}

/// Of three tokens together, and of each of those behind them.
AllLogits logits_of(ModelRuntime& runtime) {
  AllLogits all{host_logits(runtime, {5, 40, 300})};
  for (const std::uint32_t id : one_by_one) all.push_back(host_logits(runtime, {id}));
  return all;
}

/// A runtime over a table that counts, and what its tokens give without graphs.
struct Watched {
  WatchedSample sample;
  Backend backend{sample.watched.device};
  WrapperTable& table = sample.table;
  AllLogits expected = [this] {
    ModelRuntime runtime(backend, sample.loaded, sample.spec, launched_each(16));
    return logits_of(runtime);
  }();

  ModelRuntime make() const {
    return ModelRuntime(backend, sample.loaded, sample.spec, of_context(16));
  }
};

std::optional<Error> error_of(ModelRuntime& runtime, std::uint32_t id) {
  try {
    host_logits(runtime, {id});
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("token graph: the bits of launches one by one, at each position and after a reset") {
  const auto check = [](const Backend& backend, const LoadedModel& loaded,
                        const DecoderSpec& spec) {
    ModelRuntime each(backend, loaded, spec, launched_each(16));
    const AllLogits expected = logits_of(each);
    ModelRuntime runtime(backend, loaded, spec, of_context(16));
    for (int round = 0; round < 2; ++round) {
      CHECK(logits_of(runtime) == expected);
      runtime.reset();
    }
  };
  for_each_kind_of_decoder("gemma3", check);
}

TEST_CASE("token graph: a token is one launch of it, and few of kernels") {
  const Watched watched;
  ModelRuntime runtime = watched.make();
  host_logits(runtime, {5, 40, 300});
  for (std::size_t token = 0; token < one_by_one.size(); ++token) {
    CAPTURE(token);
    watched.table.reset();
    CHECK(host_logits(runtime, {one_by_one[token]}) == watched.expected[token + 1]);
    // The first loads kernels, the second is recorded.
    CHECK(watched.table.count("hipGraphLaunch") == (token > 0 ? 1 : 0));
    CHECK(watched.table.count("hipStreamBeginCapture") == (token == 1 ? 1 : 0));
    if (token < 2) continue;
    const bool take_norms = watched.backend.device().platform() == Platform::nvidia;
    // The embedding, the position, the last norm and the logits.
    CHECK(watched.table.count("hipModuleLaunchKernel") == (take_norms ? 3 : 4));
  }
}

TEST_CASE("token graph: it is freed with the runtime, and by cleanup") {
  const Watched watched;
  const LiveCounts before = watched.table.live();
  {
    ModelRuntime runtime = watched.make();
    CHECK(logits_of(runtime) == watched.expected);
    CHECK((watched.table.live() - before).graphs == 1);
  }
  CHECK((watched.table.live() - before).graphs == 0);
  ModelRuntime runtime = watched.make();
  CHECK(logits_of(runtime) == watched.expected);
  runtime.cleanup(20);
  CHECK((watched.table.live() - before).graphs == 0);
}

TEST_CASE("token graph: where nothing can be recorded kernels are launched one by one") {
  const Watched watched;
  std::ptrdiff_t refusals = 0;
  for (const char* call :
       {"hipStreamBeginCapture", "hipStreamEndCapture", "hipGraphInstantiateWithFlags"}) {
    for (const hip::hipError_t code : {hip::hipErrorNotSupported, hip::hipErrorOutOfMemory}) {
      CAPTURE(call);
      CAPTURE(code);
      ModelRuntime runtime = watched.make();
      watched.table.reset();
      watched.table.fail(call, code);
      CHECK(logits_of(runtime) == watched.expected);
      CHECK(watched.table.count("hipGraphLaunch") == 0);
      CHECK(watched.table.count("hipStreamBeginCapture") == 1);  // not tried again
      const std::vector<std::string> notes = watched.sample.watched.trace->notes();
      CHECK(std::ranges::count_if(notes, [](const std::string& note) {
              return note.find("kernels are launched one by one") != std::string::npos;
            }) == ++refusals);
    }
  }
}

TEST_CASE(
    "token graph: an error of a kernel names it, one of the graph the graph, and neither is "
    "the last") {
  const Watched watched;
  ModelRuntime runtime = watched.make();
  host_logits(runtime, {5, 40, 300});
  host_logits(runtime, {one_by_one[0]});
  watched.table.reset();
  watched.table.fail("hipModuleLaunchKernel", hip::hipErrorUnknown, 3);  // while it is recorded
  const std::optional<Error> of_kernel = error_of(runtime, one_by_one[1]);
  REQUIRE(of_kernel);
  CHECK(std::string(of_kernel->what()).find("kernel 'hiptool_") != std::string::npos);
  CHECK(watched.table.count("hipGraphLaunch") == 0);
  CHECK(host_logits(runtime, {one_by_one[1]}) == watched.expected[2]);

  watched.table.fail("hipGraphLaunch", hip::hipErrorUnknown);
  const std::optional<Error> of_graph = error_of(runtime, one_by_one[2]);
  REQUIRE(of_graph);
  CHECK(std::string(of_graph->what()).find("graph 'layers of a token'") != std::string::npos);
  CHECK(runtime.position() == 5);
  CHECK(host_logits(runtime, {one_by_one[2]}) == watched.expected[3]);
}

TEST_CASE("token graph: what is observed is launched one by one") {
  const Watched watched;
  ModelRuntime runtime = watched.make();
  host_logits(runtime, {5, 40, 300});
  for (std::size_t token = 0; token < one_by_one.size(); ++token) {
    std::size_t stages = 0;
    if (token == 3) runtime.observe([&](const DecoderStage&) { ++stages; });
    watched.table.reset();
    CHECK(host_logits(runtime, {one_by_one[token]}) == watched.expected[token + 1]);
    CHECK(watched.table.count("hipGraphLaunch") == (token > 0 && token != 3 ? 1 : 0));
    CHECK((stages > 0) == (token == 3));
    runtime.observe({});
  }
}

TEST_CASE("token graph: work of another thread on the Backend is no part of it, and may wait") {
  const Watched watched;
  ModelRuntime runtime = watched.make();
  Tensor others = watched.backend.zeros(DType::f32, {100});
  watched.table.run_before("hipStreamEndCapture", [&] {
    std::vector<float> read;
    std::thread([&] {
      ops::fill_into(watched.backend, others, 3);
      read = others.to_host<float>(watched.backend.stream());
    }).join();
    CHECK(read == std::vector<float>(100, 3));
  });
  host_logits(runtime, {5, 40, 300});
  for (std::size_t token = 0; token < one_by_one.size(); ++token) {
    CHECK(host_logits(runtime, {one_by_one[token]}) == watched.expected[token + 1]);
    if (token != 1) continue;
    ops::fill_into(watched.backend, others, 4);
    CHECK(watched.table.count("hipGraphLaunch") == 1);  // the next ones do not fill it again
  }
  CHECK(others.to_host<float>(watched.backend.stream()) == std::vector<float>(100, 4));
}
