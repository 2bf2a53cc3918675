// SPDX-License-Identifier: MIT
// Each stage of a check while calls of the runtime fail, one at a time. All of them with RELEASE=1
// in the environment, else a few by chance. Fakes have one kernel and one operation.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "accept/check.hpp"
#include "hiptool/error.hpp"
#include "model_writer/model_writer.hpp"
#include "support.hpp"
#include "unit/load/watched_device.hpp"
#include "unit/runtime/runtime_faults.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

struct WatchedStage {
  explicit WatchedStage(const std::string& stage) {
    options.stages = {stage};
    options.size_bytes = 64 << 10;
    options.patience_s = 3600;
    options.model = {made_model(folder, ModelFormat::gguf, {"llama"}, {"F32"}).path(), false};
    options.cancel = &cancel;
    if (std::getenv("HIPTOOL_TEST_DEVICE") != nullptr) {  // no fake is as fast as the host
      options.kernels = {"stream-triad"};
      options.operations = {"rmsnorm"};
    }
    watched.table.reset();
  }

  accept::StageResult run() {
    accept::CheckResult result;
    const Device& device = watched.device;
    result.devices.push_back({device.id(), device.platform(), device.info(), false});
    accept::run_check({device}, options, result);
    REQUIRE(!result.stages.empty());
    const accept::StageResult* const worst = result.worst();
    return worst != nullptr ? *worst : result.stages.front();
  }

  /// Whether a note after the first `count` names the call.
  bool has_noted(const std::string& call, std::size_t count) const {
    const std::vector<std::string> notes = watched.trace->notes();
    return std::any_of(
        notes.begin() + static_cast<std::ptrdiff_t>(count), notes.end(),
        [&](const std::string& note) { return note.find(call) != std::string::npos; });
  }

  TemporaryFolder folder;
  CancelToken cancel;
  WatchedDevice watched;
  accept::CheckOptions options;
};

/// A call, and which of its kind.
using FailingCall = std::pair<std::string, std::uint64_t>;

/// What no stage can do without; other calls ask for facts, end work that is done, or have another
/// way alongside them, such as memory that is not registered.
bool is_work(const std::string& call) {
  static const std::set<std::string> work{"hipMalloc", "hipMemcpyAsync", "hipMemsetAsync",
                                          "hipModuleGetFunction", "hipModuleLaunchKernel"};
  return work.count(call) > 0;
}

std::vector<FailingCall> chosen_calls(const WrapperTable& table, std::size_t most) {
  const bool is_all = std::getenv("RELEASE") != nullptr;
  std::mt19937_64 random(20261125);
  std::vector<FailingCall> all;
  for (const auto& [call, count] : calls_of(table)) {
    std::set<std::uint64_t> numbers{1, 1 + random() % count, count};
    for (std::uint64_t nth = 1; is_all && nth <= count; ++nth) numbers.insert(nth);
    for (const std::uint64_t nth : numbers) all.emplace_back(call, nth);
  }
  if (is_all) return all;
  std::shuffle(all.begin(), all.end(), random);
  all.resize(std::min(all.size(), most));
  return all;
}

void fail_calls_of(const std::string& name, std::size_t most) {
  WatchedStage stage(name);
  const accept::StageResult clean = stage.run();
  CAPTURE(clean.text());
  REQUIRE(clean.status == accept::StageStatus::passed);
  const std::vector<FailingCall> calls = chosen_calls(stage.watched.table, most);
  std::size_t failed = 0;
  std::size_t missed = 0;
  for (const FailingCall& one : calls) {
    const std::string& call = one.first;
    const std::uint64_t nth = one.second;
    CAPTURE(call);
    CAPTURE(nth);
    stage.watched.table.reset();
    const std::size_t notes_before = stage.watched.trace->notes().size();
    stage.watched.table.fail(call, hip::hipErrorUnknown, nth);
    const accept::StageResult result = stage.run();
    if (result.faults.empty()) {
      // How often a sample repeats its work is a matter of time.
      const bool was_made = stage.watched.table.count(call) >= nth;
      missed += was_made ? 0u : 1u;
      CHECK(result.status == accept::StageStatus::passed);
      CHECK_FALSE((was_made && is_work(call)));
      // What is released may go on, but nobody loses an error.
      if (was_made) CHECK(stage.has_noted(call, notes_before));
      continue;
    }
    ++failed;
    const accept::Fault& fault = result.faults.front();
    CAPTURE(fault.reason);
    CHECK(!fault.action.empty());
    REQUIRE(fault.error.has_value());
    CHECK(fault.error->code() == ErrorCode::device);  // never wrong data, never a bug
    CHECK(fault.reason.find(call) != std::string::npos);
  }
  MESSAGE(name, ": ", calls.size() - missed, " calls failed, ", failed,
          " of them failed the stage");
}

}  // namespace

TEST_CASE("check: a call that fails is named by the stage of copies") { fail_calls_of("copy", 12); }

TEST_CASE("check: a call that fails is named by the tests of memory") {
  fail_calls_of("memory", 12);
}

TEST_CASE("check: a call that fails is named by the stage of kernels") {
  fail_calls_of("kernels", 6);
}

TEST_CASE("check: a call that fails is named by the stage of operations") {
  fail_calls_of("operations", 3);
}

TEST_CASE("check: a call that fails is named by the stage of libraries") {
  fail_calls_of("libraries", 6);
}

TEST_CASE("check: a call that fails is named by the stage of coherence") {
  fail_calls_of("coherence", 12);
}

TEST_CASE("check: a call that fails is named by the stage of the model") {
  fail_calls_of("model", 12);
}
