// SPDX-License-Identifier: MIT
/// `hiptool run-kernel NAME` over the cpu platform behind a wrapper table, in this process.
#include "cli/commands/run_kernel/run_kernel.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>

#include "wrapped_cpus.hpp"

using namespace hiptool;
using cli::testing::contains;
using cli::testing::Machine;
using test::WrapperTable;

namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;
using Outcome = cli::testing::CpusOutcome;

Outcome run(Words words, cli::testing::WrappedCpus::Prepare prepare = {}) {
  words.insert(words.begin(), "run-kernel");
  words.insert(words.end(), {"--device", "cpu:0", "--samples", "1", "--size", "4KiB"});
  return cli::testing::run_on_cpus(std::move(words), std::move(prepare));
}

std::size_t count_status(const Json& document, const std::string& status) {
  return static_cast<std::size_t>(
      std::count_if(document["measurements"].begin(), document["measurements"].end(),
                    [&](const Json& result) { return result["status"] == status; }));
}

const Words few{"stream-triad", "sum", "memtest-address", "--dtype", "f32,u32"};
constexpr std::size_t few_results = 4;  // f32, f32 and u32, u32

}  // namespace

TEST_CASE("run-kernel: without a fault all is right and nothing is left") {
  const Outcome clean = run(few);
  CAPTURE(clean.err);
  CHECK(clean.exit_code == 0);
  CHECK(clean.document["status"] == "ok");
  CHECK(count_status(clean.document, "ok") == few_results);
  CHECK(contains(clean.err, "[1/4] stream-triad.f32.4KiB@cpu:0: "));
  CHECK(contains(clean.err, "[4/4] sum.f32.4KiB@cpu:0: "));
  CHECK(clean.cpus->table().live().is_empty());
}

TEST_CASE("run-kernel: whichever call fails, it is named, and what can be is run") {
  const int failed_runs = cli::testing::fail_each_call(
      [](auto prepare) { return run(few, std::move(prepare)); }, 3,
      [](const Json& right) { CHECK(count_status(right, "ok") == few_results); },
      [](const Json& failed) {
        if (!failed.contains("measurements")) return;  // the device itself could not be used
        CHECK(count_status(failed, "failed") == 1);
        CHECK(count_status(failed, "ok") == few_results - 1);
      });
  CHECK(failed_runs > 20);
}

TEST_CASE("run-kernel: wrong data is exit 5, and the other kernels are run") {
  const Outcome wrong = run({"memset", "write"}, [](WrapperTable& table) {
    table.corrupt_copy(1, 401);  // the first copy reads the first result
  });
  CHECK(wrong.exit_code == 5);
  CHECK(wrong.document["status"] == "mismatch");
  CHECK(count_status(wrong.document, "ok") == 1);
  const Json& result = wrong.document["measurements"][0];
  CHECK(result["status"] == "mismatch");
  CHECK(result["wrong"]["first_bad_index"] == 100);
  CHECK(result["wrong"]["count"] == 1);
  CHECK(result["wrong"]["xor_bits"] == 0xff00);
  CHECK(result["wrong"]["expected"].is_number());
  CHECK(result["wrong"]["got"].is_number());
  // The memory is right; reading it was not.
  CHECK(result["wrong"]["reread_agrees"] == false);
}

TEST_CASE("run-kernel: a lost device fails the kernels after it, and says so") {
  const Outcome lost = run(few, [](WrapperTable& table) {
    table.fail("hipModuleLaunchKernel", hip::hipErrorIllegalAddress, 2);
  });
  CHECK(lost.exit_code == 6);
  CHECK(lost.document["error"]["code"] == "device_lost");
  CHECK(count_status(lost.document, "failed") >= 1);
}

TEST_CASE("run-kernel: memory for none is exit 3, for some of them a skip with the reason") {
  const Outcome one =
      run(few, [](WrapperTable& table) { table.fail("hipMalloc", hip::hipErrorOutOfMemory, 1); });
  CHECK(one.exit_code == 0);
  CHECK(one.document["measurements"][0]["status"] == "skipped");
  CHECK(contains(one.document["measurements"][0]["reason"].get<std::string>(), "memory"));
  CHECK(count_status(one.document, "ok") == few_results - 1);
  const Outcome none = run({"memset"}, [](WrapperTable& table) {
    table.fail("hipMalloc", hip::hipErrorOutOfMemory, 1);
  });
  CHECK(none.exit_code == 3);
  CHECK(none.document["error"]["code"] == "out_of_memory");
}

TEST_CASE("run-kernel: an interruption keeps what was done") {
  Machine machine;
  // The second of the two fills memory too: then the first has been reported.
  machine.binder = std::make_shared<cli::testing::WrappedCpus>([&](WrapperTable& table) {
    for (std::uint64_t call = 1; call <= 100; ++call) {
      const auto cancel_in_second = [&machine] {
        if (!contains(machine.err.text, "[1/2]")) return;
        machine.signal = SIGINT;
        machine.cancel.cancel();
      };
      table.run_before("hipMemsetAsync", cancel_in_second, call);
    }
  });
  const int code = machine.run({"run-kernel", "write", "memset", "--device", "cpu:0", "--dtype",
                                "u32", "--samples", "1", "--size", "4KiB", "--format", "json"});
  CHECK(code == 130);
  const Json document = Json::parse(machine.out.text);
  CHECK(document["status"] == "interrupted");
  CHECK(document["error"]["code"] == "cancelled");
  REQUIRE(document["measurements"].size() == 1);
  CHECK(document["measurements"][0]["status"] == "ok");
}
