// SPDX-License-Identifier: MIT
// Each stage of a check while calls of the runtime fail, one at a time. All of them with RELEASE=1
// in the environment, else a few by chance. Fakes have one kernel and one operation.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <future>
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
#include "waiting.hpp"

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

  accept::CheckResult run_all() {
    accept::CheckResult result;
    const Device& device = watched.device;
    result.devices.push_back({device.id(), device.platform(), device.info(), false});
    accept::run_check({device}, options, result);
    REQUIRE(!result.stages.empty());
    return result;
  }

  accept::StageResult run() {
    const accept::CheckResult result = run_all();
    const accept::StageResult* const worst = result.worst();
    return worst != nullptr ? *worst : result.stages.front();
  }

  /// Demands of the first measurement a rate that no device reaches, so that it is made again.
  /// Returns how many such calls are made before that.
  std::uint64_t demand_too_much(const std::string& call) {
    run_all();  // takes what is kept from run to run
    watched.table.reset();
    const accept::CheckResult clean = run_all();
    const std::uint64_t before = watched.table.count(call);
    const auto rated = std::find_if(
        clean.measurements.begin(), clean.measurements.end(),
        [](const auto& one) { return one.again && accept::speed_of(one).has_value(); });
    REQUIRE(rated != clean.measurements.end());
    accept::Expectation expectation;
    (rated->bytes_per_s ? expectation.bytes_per_s : expectation.flops_per_s) = 1e18;
    auto& expectations = options.expectations.emplace();
    expectations.path = "gpus.json";
    expectations.of_kind[watched.device.info().name][rated->label] = expectation;
    demanded = rated->id;
    watched.table.reset();
    return before;
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
  std::string demanded;  ///< the id of the measurement that is made again
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

/// What a stage says whose slow measurement was made again.
accept::Fault worst_of_again(WatchedStage& stage) {
  const accept::CheckResult result = stage.run_all();
  const accept::StageResult* const worst = result.worst();
  REQUIRE(worst != nullptr);
  CAPTURE(worst->text());
  const auto measured = std::find_if(result.measurements.begin(), result.measurements.end(),
                                     [&](const auto& one) { return one.id == stage.demanded; });
  REQUIRE(measured != result.measurements.end());
  CHECK_FALSE(accept::speed_of(*measured));
  CHECK(worst->device == stage.watched.device.id());
  return worst->faults.front();
}

void fail_again(const std::string& name, const std::string& call) {
  CAPTURE(name);
  WatchedStage stage(name);
  const std::uint64_t before = stage.demand_too_much(call);
  stage.watched.table.fail(call, hip::hipErrorUnknown, before + 1);
  const accept::Fault fault = worst_of_again(stage);
  CHECK(exit_code_of(fault) == 6);
  CHECK(fault.code == "HT-CALL-FAILED");
  CHECK(fault.reason.find(call) != std::string::npos);
}

}  // namespace

TEST_CASE("check: a call that fails while a slow rate is measured again counts") {
  for (const char* const stage : {"copy", "memory", "kernels"}) fail_again(stage, "hipMalloc");
  fail_again("kernels", "hipStreamCreateWithFlags");  // before the kernel has a result
}

TEST_CASE("check: wrong data while a slow rate is measured again counts") {
  WatchedStage stage("copy");
  WrapperTable& table = stage.watched.table;
  const std::uint64_t before = stage.demand_too_much("hipMalloc");
  const std::function<void()> damage = [&table, &damage] {
    table.damage_largest(0);
    table.run_before("hipStreamSynchronize", damage);
  };
  table.run_before(
      "hipMalloc", [&] { table.run_before("hipStreamSynchronize", damage); }, before + 1);
  const accept::Fault fault = worst_of_again(stage);
  CHECK(exit_code_of(fault) == 5);
  CHECK(fault.code == "HT-COPY-DATA");
}

TEST_CASE("check: wrong data that is measured again counts though an interrupt follows") {
  WatchedStage stage("copy");
  WrapperTable& table = stage.watched.table;
  const std::uint64_t before = stage.demand_too_much("hipMalloc");
  int damages = 0;
  const std::function<void()> damage = [&] {
    table.damage_largest(0);
    if (++damages < 6) return table.run_before("hipStreamSynchronize", damage);
    stage.cancel.cancel();
  };
  table.run_before(
      "hipMalloc", [&] { table.run_before("hipStreamSynchronize", damage); }, before + 1);
  const accept::Fault fault = worst_of_again(stage);
  CHECK(stage.cancel.is_cancelled());
  CHECK(exit_code_of(fault) == 5);
  CHECK(fault.code == "HT-COPY-DATA");
  CHECK(become_idle());
}

TEST_CASE("check: wrong copies count though a later copy of them fails") {
  WatchedStage stage("copy");
  WrapperTable& table = stage.watched.table;
  int damages = 0;
  const std::function<void()> damage = [&] {
    table.damage_largest(0);
    if (++damages < 6) return table.run_before("hipStreamSynchronize", damage);
    table.fail("hipStreamSynchronize", hip::hipErrorUnknown);
  };
  table.run_before("hipStreamSynchronize", damage, 3);  // once memory is taken
  const accept::StageResult result = stage.run();
  CHECK(damages == 6);
  REQUIRE(!result.faults.empty());
  CHECK(exit_code_of(result.faults.front()) == 5);
  CHECK(result.faults.front().code == "HT-COPY-DATA");
}

TEST_CASE("check: a device that hangs while it gives back the memory of the last copy") {
  WatchedStage stage("copy");
  WrapperTable& table = stage.watched.table;
  stage.run();
  table.reset();
  stage.run();
  const std::uint64_t count = table.count("hipFree");
  REQUIRE(count > 0);
  table.reset();
  stage.options.patience_s = 3;
  std::promise<void> gate;
  table.run_before(
      "hipFree", [opened = gate.get_future().share()] { opened.wait(); }, count);
  const accept::StageResult result = stage.run();
  REQUIRE(!result.faults.empty());
  CHECK(result.faults.front().code == "HT-HANG");
  gate.set_value();
  CHECK(comes_true([&table] { return table.live().is_empty(); }));
  CHECK(become_idle());
}

TEST_CASE("check: a device that hangs while it gives back the memory of the first copy") {
  WatchedStage stage("copy");
  WrapperTable& table = stage.watched.table;
  stage.run();
  table.reset();
  std::uint64_t frees = 0;
  std::uint64_t frees_of_first = 0;  // until the next copy takes memory
  const std::function<void()> free = [&] {
    ++frees;
    table.run_before("hipFree", free);
  };
  const std::function<void()> take = [&] {
    if (frees_of_first == 0) frees_of_first = frees;
    table.run_before("hipMalloc", take);
  };
  table.run_before("hipFree", free);
  table.run_before("hipMalloc", take);
  const accept::CheckResult clean = stage.run_all();
  REQUIRE(frees_of_first > 0);
  REQUIRE(frees > frees_of_first);
  table.reset();
  stage.options.patience_s = 3;
  std::promise<void> gate;
  table.run_before(
      "hipFree", [opened = gate.get_future().share()] { opened.wait(); }, frees_of_first);
  const accept::CheckResult result = stage.run_all();
  REQUIRE(result.worst() != nullptr);
  const accept::Fault& fault = result.worst()->faults.front();
  CHECK(fault.code == "HT-HANG");
  CHECK(fault.what == clean.measurements.front().id);
  CHECK(result.measurements.size() == 1);
  gate.set_value();
  CHECK(comes_true([&table] { return table.live().is_empty(); }));
  CHECK(become_idle());
}

TEST_CASE("check: a device that hangs while a slow rate is measured again counts") {
  WatchedStage stage("copy");
  WrapperTable& table = stage.watched.table;
  const std::uint64_t before = stage.demand_too_much("hipMalloc");
  stage.options.patience_s = 3;
  std::promise<void> gate;
  table.run_before(
      "hipMalloc", [opened = gate.get_future().share()] { opened.wait(); }, before + 1);
  const accept::Fault fault = worst_of_again(stage);
  CHECK(exit_code_of(fault) == 6);
  CHECK(fault.code == "HT-HANG");
  gate.set_value();
  CHECK(comes_true([&table] { return table.live().is_empty(); }));
  CHECK(become_idle());
}

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
