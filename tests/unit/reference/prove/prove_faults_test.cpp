// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hiptool/backend.hpp"
#include "hiptool/cancel.hpp"
#include "hiptool/error.hpp"
#include "hiptool/model_runtime.hpp"
#include "reference/prove/golden.hpp"
#include "reference/prove/prove.hpp"
#include "runtime/decode_tokens.hpp"
#include "support.hpp"
#include "unit/runtime/runtime_faults.hpp"
#include "unit/runtime/runtime_support.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

const std::vector<std::uint32_t> prompt{1, 2, 3};

/// What a run says of the model, as one text.
using Work = std::function<std::string(ModelRuntime&)>;

std::string verdict_of(const reference::ProveResult& result) {
  std::string text = result.is_right() ? "right" : "wrong";
  if (result.first_wrong) text += " " + result.first_wrong->stage;
  return text + " " + std::to_string(result.layers.size()) + " " +
         std::to_string(result.logits->max_error);
}

struct Trial {
  std::string verdict;
  std::optional<Error> error;
};

Trial try_once(const WatchedSample& sample, const Work& work) {
  Trial trial;
  try {
    const Backend backend(sample.watched.device);
    ModelRuntime runtime(backend, sample.loaded, sample.spec, of_context(8, 2));
    trial.verdict = work(runtime);
  } catch (const Error& error) {
    trial.error = error;
  }
  return trial;
}

// A call that fails ends the work with its name, or changes nothing.
void fail_every_call(const Work& work, Sample calls = Sample::usual) {
  const WatchedSample sample;
  sample.table.reset();
  const Trial clean = try_once(sample, work);
  REQUIRE(!clean.error);
  REQUIRE(sample.is_nothing_left());
  std::set<std::string> failing;
  for (const auto& entry : calls_of(sample.table)) {
    const std::string& call = entry.first;
    for (const std::uint64_t nth : calls_to_fail(entry.first, entry.second, calls)) {
      CAPTURE(call);
      CAPTURE(nth);
      sample.table.reset();
      sample.table.fail(call, hip::hipErrorUnknown, nth);
      const Trial trial = try_once(sample, work);
      CHECK(sample.is_nothing_left());
      if (harmless_calls.contains(call)) CHECK(!trial.error);
      if (!trial.error) {
        CHECK(trial.verdict == clean.verdict);
        continue;
      }
      failing.insert(call);
      CHECK(trial.error->code() == ErrorCode::device);
      CHECK(std::string(trial.error->what()).find(call) != std::string::npos);
    }
  }
  for (const std::string call : {"hipModuleLaunchKernel", "hipMemcpyAsync", "hipStreamQuery"}) {
    CAPTURE(call);
    CHECK(failing.contains(call));
  }
}

/// With which devices are compared; made before any call fails.
struct Expected {
  TemporaryFolder folder;
  ModelFile model =
      made_model(folder, ModelFormat::gguf, {"llama", RopeScaling::llama3, 0, false}, {"F16"});
  DecoderSpec spec = DecoderSpec::read(model);
  reference::ReferenceDecoder reference{model, spec, {.sequence_tokens = 8}};
};

}  // namespace

TEST_CASE("prove: whichever call fails, there is an error or the verdict of a clean run") {
  const Expected expected;
  fail_every_call([&](ModelRuntime& runtime) {
    return verdict_of(reference::prove(runtime, expected.reference, prompt));
  });
}

TEST_CASE("prove: the same of a golden, right or wrong") {
  Expected expected;
  reference::Golden golden = reference::make_golden(expected.reference, prompt);
  const auto check = [&](ModelRuntime& runtime) {
    try {
      return verdict_of(reference::check_golden(runtime, expected.reference, golden));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::corrupt_data) throw;
      return std::string(error.what());  // of the golden
    }
  };
  fail_every_call(check, Sample::few);
  golden.projections[5] += 1;  // a closer look follows
  fail_every_call(check, Sample::few);
}

TEST_CASE("decode: whichever call fails, there is an error or the tokens of a clean run") {
  for (const runtime::StepOrder order :
       {runtime::StepOrder::automatic, runtime::StepOrder::ahead}) {
    CAPTURE(static_cast<int>(order));
    fail_every_call(
        [&](ModelRuntime& runtime) {
          const CancelToken cancel;
          runtime::DecodedTokens found;
          runtime::decode_tokens(runtime, prompt, 3, {}, cancel, found, order);
          std::string text = std::to_string(found.logits_digest);
          for (const std::uint32_t id : found.ids) text += " " + std::to_string(id);
          return text;
        },
        Sample::few);
  }
}
