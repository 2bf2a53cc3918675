// SPDX-License-Identifier: MIT
/// `hiptool bench-copy` over the cpu platform behind a wrapper table, in this process.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <regex>
#include <set>

#include "cli/commands/bench_copy/options.hpp"
#include "core/platform_state.hpp"
#include "results/bench_copy/outcome.hpp"
#include "wrapped_cpus.hpp"

using namespace hiptool;
using cli::testing::contains;
using cli::testing::Machine;
using cli::testing::TemporaryFolder;
using test::WrapperTable;

namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

using Outcome = cli::testing::CpusOutcome;

Outcome run(Words words, cli::testing::WrappedCpus::Prepare prepare = {}) {
  words.insert(words.begin(), "bench-copy");
  words.insert(words.end(), {"--device", "cpu:0,cpu:1"});
  return cli::testing::run_on_cpus(std::move(words), std::move(prepare));
}

std::size_t count_status(const Json& document, const std::string& status) {
  std::size_t count = 0;
  for (const Json& spec : document["measurements"]) {
    if (spec["status"] == status) ++count;
  }
  return count;
}

const Words few{"--samples", "1", "--size", "4KiB", "--kind", "d2d,bidir,p2p-write"};
constexpr std::size_t few_cells = 2 * 2 + 2;

}  // namespace

TEST_CASE("bench-copy: without a fault all is right and nothing is left") {
  const Outcome clean = run(few);
  CAPTURE(clean.err);
  CHECK(clean.exit_code == 0);
  CHECK(count_status(clean.document, "ok") == few_cells);
  CHECK(clean.cpus->table().live().is_empty());
}

TEST_CASE("bench-copy: whichever call fails, one cell at most fails, and the call is named") {
  const int failed_runs = cli::testing::fail_each_call(
      [](auto prepare) { return run(few, std::move(prepare)); }, 2,
      [](const Json& right) { CHECK(count_status(right, "ok") == few_cells); },
      [](const Json& failed) {
        CHECK(count_status(failed, "failed") == 1);
        CHECK(count_status(failed, "ok") == few_cells - 1);
      });
  CHECK(failed_runs > 30);
}

TEST_CASE("bench-copy: wrong data is exit 5, and the other cells are measured") {
  // Copies of pageable memory have no gate, and slow ones are samples of one copy each; only those
  // after the warm-up are compared.
  const auto with_wrong = [](std::uint64_t nth) {
    return run({"--samples", "1", "--size", "16KiB", "--kind", "h2d,d2h", "--memory", "pageable"},
               [nth](WrapperTable& table) {
                 table.delay("hipMemcpyAsync", std::chrono::milliseconds(4));
                 table.corrupt_copy(nth, 4001);
               });
  };
  Outcome wrong = with_wrong(1);
  for (std::uint64_t nth = 2; nth < 50 && wrong.exit_code == 0; ++nth) wrong = with_wrong(nth);
  REQUIRE(wrong.exit_code == 5);
  CHECK(wrong.document["status"] == "mismatch");
  CHECK(count_status(wrong.document, "mismatch") == 1);
  CHECK(count_status(wrong.document, "ok") == 3);
  const Json& spec = wrong.document["measurements"][0];
  CHECK(spec["wrong"]["first_bad_index"] == 1000);
  CHECK(spec["wrong"]["xor_bits"] == 0xff00);
  CHECK(spec["wrong"]["count"] == 1);
}

TEST_CASE("bench-copy: a lost device fails its later cells, not those of the other") {
  const Outcome lost = run(few, [](WrapperTable& table) {
    table.fail("hipMemcpyAsync", hip::hipErrorIllegalAddress, 1);
  });
  CHECK(lost.exit_code == 6);
  CHECK(lost.document["error"]["code"] == "device_lost");
  for (const Json& spec : lost.document["measurements"]) {
    const std::string id = spec["id"];
    CAPTURE(id);
    CHECK(spec["status"] == (contains(id, "cpu:0") ? "failed" : "ok"));
  }
}

TEST_CASE("bench-copy: no memory is exit 3, of the host exit 7") {
  const Outcome device =
      run(few, [](WrapperTable& table) { table.fail("hipMalloc", hip::hipErrorOutOfMemory, 2); });
  CHECK(device.exit_code == 3);
  const Outcome host = run(
      few, [](WrapperTable& table) { table.fail("hipHostMalloc", hip::hipErrorOutOfMemory, 2); });
  CHECK(host.exit_code == 7);
}

TEST_CASE("bench-copy: a baseline tells what became slower, from times that the test sets") {
  const TemporaryFolder folder;
  const std::string path = folder / "base.json";
  // Not behind a gate, which would hide the delay of the call.
  const Words words{"--kind", "h2d", "--memory", "pageable", "--size", "4KiB", "--samples", "9"};
  const auto run_with = [&](int delay_ms, const Words& more) {
    Words all = words;
    all.insert(all.end(), more.begin(), more.end());
    return run(all, [=](WrapperTable& table) {
      table.delay("hipMemcpyAsync", std::chrono::milliseconds(delay_ms));
    });
  };
  // Ten times as long, so that a busy machine changes no verdict.
  const std::string slow_path = folder / "slow.json";
  REQUIRE(run_with(3, {"--export", "json=" + path}).exit_code == 0);
  const Outcome slower = run_with(30, {"--baseline", path, "--export", "json=" + slow_path});
  CHECK(slower.exit_code == 1);
  CHECK(slower.document["status"] == "failed");
  CHECK(slower.document["exit_code"] == 1);
  REQUIRE(slower.document["failures"].size() == 2);
  const Json& failure = slower.document["failures"][0];
  CHECK(failure["what"] == "h2d.pageable.copy.4KiB@cpu:0 against the baseline");
  CHECK(failure["got"].get<double>() < failure["expected"].get<double>());
  REQUIRE(slower.document["comparisons"].size() == 2);
  CHECK(slower.document["comparisons"][0]["verdict"] == "SLOWER");
  CHECK(slower.document["comparisons"][0]["change"].get<double>() > 0.5);
  const Outcome faster = run_with(3, {"--baseline", slow_path});
  CHECK(faster.exit_code == 0);
  CHECK(faster.document["comparisons"][0]["verdict"] == "FASTER");
  const Outcome other = run_with(3, {"--baseline", slow_path, "--size", "8KiB"});
  CHECK(other.exit_code == 1);  // nothing is in both
  CHECK(other.document["comparisons"].empty());
  CHECK(other.document["baseline_missing"].size() == 4);
  CHECK(other.document["failures"][0]["what"] == "baseline " + slow_path);
}

TEST_CASE("bench-copy: thresholds, and how often they are tried") {
  const Words words{"--kind", "h2d", "--memory", "pageable", "--size", "1MiB", "--samples", "3"};
  const auto slow = [](WrapperTable& table) {
    table.delay("hipMemcpyAsync", std::chrono::milliseconds(4));
  };
  const auto with = [&](const Words& more) {
    Words all = words;
    all.insert(all.end(), more.begin(), more.end());
    return run(all, slow);
  };
  const Outcome met = with({"--fail-below", "h2d.pageable>=1MB/s"});
  CHECK(met.exit_code == 0);
  CHECK(met.document["thresholds"].size() == 2);
  CHECK(met.document["thresholds"][1]["is_met"] == true);
  const Outcome missed = with({"--fail-below", "h2d.cpu:1>=1GB/s", "--retry", "2/3"});
  CHECK(missed.exit_code == 1);
  CHECK(missed.document["status"] == "failed");
  REQUIRE(missed.document["failures"].size() == 1);
  CHECK(missed.document["failures"][0]["what"] == "h2d.cpu:1>=1GB/s h2d.pageable.copy.1MiB@cpu:1");
  CHECK(missed.document["failures"][0]["expected"] == 1e9);
  REQUIRE(missed.document["thresholds"].size() == 1);
  const Json& judged = missed.document["thresholds"][0];
  CHECK(judged["measurement"] == "h2d.pageable.copy.1MiB@cpu:1");
  CHECK(judged["is_met"] == false);
  CHECK(judged["met"] == 0);
  CHECK(judged["measured"] == 2);  // two misses of three: it cannot be met any more
  const Outcome twice = with({"--fail-below", "h2d.cpu:0>=1MB/s", "--retry", "2/3"});
  CHECK(twice.exit_code == 0);
  CHECK(twice.document["thresholds"][0]["met"] == 2);
  CHECK(with({"--fail-below", "d2h>=1MB/s"}).exit_code == 2);
  const Outcome unknown = with({"--fail-below", "h2d>=50%"});
  CHECK(unknown.exit_code == 2);
  CHECK(count_status(unknown.document, "ok") == 2);
}

TEST_CASE("bench-copy: a measurement that fails when it is repeated is not a missed threshold") {
  const Words once{"--kind", "d2d",          "--size",     "1MiB",   "--samples",
                   "3",      "--fail-below", "d2d>=1MB/s", "--retry"};
  const auto with = [&](const char* retry, const cli::testing::WrappedCpus::Prepare& prepare) {
    Words all = once;
    all.emplace_back(retry);
    return run(all, prepare);
  };
  const Outcome first = with("1/1", {});
  REQUIRE(first.exit_code == 0);
  // Of both devices once, so that the next one is of a repeat on the first device.
  const std::uint64_t allocations = first.cpus->table().count("hipMalloc");
  REQUIRE(allocations > 0);
  const Outcome failed = with("3/3", [allocations](WrapperTable& table) {
    table.fail("hipMalloc", hip::hipErrorUnknown, allocations + 1);
  });
  REQUIRE(failed.exit_code == 6);
  CHECK(failed.document["error"]["code"] == "device");
  CHECK(failed.document["failures"].empty());
  CHECK(count_status(failed.document, "failed") == 1);
  CHECK(failed.document["measurements"][0]["status"] == "failed");
  REQUIRE(failed.document["thresholds"].size() == 1);
  CHECK(failed.document["thresholds"][0]["measurement"] == "d2d.copy.1MiB@cpu:1");
}

TEST_CASE("bench-copy: thresholds of latencies") {
  const Words words{"--testcase", "host_device_latency_sm", "--samples", "3"};
  const auto with = [&](const Words& more) {
    Words all = words;
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  const Outcome met = with({"--fail-below", "h2d.latency<=10s"});
  CHECK(met.exit_code == 0);
  REQUIRE(met.document["thresholds"].size() == 2);
  CHECK(met.document["thresholds"][0]["most_s"] == 10);
  CHECK(met.document["thresholds"][0]["measured_s"].get<double>() > 1e-9);
  CHECK(met.document["thresholds"][0]["least_bytes_per_s"].is_null());
  const Outcome missed = with({"--fail-below", "h2d.latency.cpu:1<=1ns", "--retry", "2/3"});
  CHECK(missed.exit_code == 1);
  REQUIRE(missed.document["thresholds"].size() == 1);
  CHECK(missed.document["thresholds"][0]["measured"] == 2);
  REQUIRE(missed.document["failures"].size() == 1);
  CHECK(missed.document["failures"][0]["expected"] == 1e-9);
  CHECK(missed.document["failures"][0]["got"].get<double>() > 1e-9);
  CHECK(with({"--fail-below", "d2d.latency<=1s"}).exit_code == 2);
  CHECK(with({"--fail-below", "h2d>=1MB/s"}).exit_code == 2);
}

TEST_CASE("bench-copy: one of several GPUs is measured, and it says how to measure all") {
  Machine machine;
  machine.gpus = 3;
  machine.out.width = 80;
  const Words words{"bench-copy", "--kind", "h2d", "--samples", "1", "--size", "64KiB"};
  CHECK(machine.run(words) == 0);
  CHECK(cli::testing::starts_with(machine.out.text, "1 measurement on nvidia:0 (1 of 3 GPUs) in "));
  CHECK(contains(machine.out.text, "\nnot measured: nvidia:1-2; measure each with --device all"));
  CHECK(cli::testing::widest_line(machine.out.text) <= 80);
  Words json = words;
  json.insert(json.end(), {"--format", "json"});
  CHECK(machine.run(json) == 0);
  CHECK(Json::parse(machine.out.text)["devices_left_out"] == Json({"nvidia:1", "nvidia:2"}));
  for (const Words& named : {Words{"--device", "nvidia:1"}, Words{"--device", "all"}}) {
    Words all = words;
    all.insert(all.end(), named.begin(), named.end());
    CHECK(machine.run(all) == 0);
    CHECK_FALSE(contains(machine.out.text, "not measured"));
    CHECK_FALSE(contains(machine.out.text, " of 3 GPUs"));
  }
}

TEST_CASE("bench-copy: pairs are a matrix, whose first line has their range and the slowest") {
  Machine machine;
  machine.gpus = 8;
  machine.out.width = 80;
  CHECK(machine.run({"bench-copy", "--kind", "p2p-write", "--samples", "1", "--size", "64KiB"}) ==
        0);
  std::string text = machine.out.text;
  for (auto at = text.find("\n  "); at != std::string::npos; at = text.find("\n  ")) {
    text.replace(at, 3, " ");
  }
  CHECK(cli::testing::starts_with(text, "56 measurements on 8 devices in "));
  CHECK(contains(text, " between 56 pairs, median "));
  CHECK(contains(text, ", slowest nvidia:"));
  CHECK(contains(text, "\np2p-write.copy.64KiB: from row to column, GB/s\nnvidia "));
  CHECK_FALSE(contains(text, "nvidia:3>nvidia:4 "));  // no row of its own
  CHECK(cli::testing::widest_line(machine.out.text) <= 80);
  machine.gpus = 2;
  CHECK(machine.run({"bench-copy", "--kind", "p2p-write", "--samples", "1", "--size", "64KiB"}) ==
        0);
  CHECK(contains(machine.out.text, "nvidia:0>nvidia:1  "));
  CHECK_FALSE(contains(machine.out.text, "from row to column"));
}

TEST_CASE("bench-copy: GPUs without kernels are measured without a gate and by the host's checks") {
  Machine machine;
  machine.gpus = 2;
  REQUIRE(machine.run({"bench-copy", "--kind", "h2d,d2d,p2p-read", "--engine", "copy,kernel",
                       "--samples", "2", "--size", "64KiB", "--format", "json"}) == 0);
  const Json document = Json::parse(machine.out.text);
  CHECK(document["measurements"].size() == 12);  // both GPUs, since one has no peer
  for (const Json& spec : document["measurements"]) {
    const bool by_kernel = spec["details"]["engine"] == "kernel";
    CHECK(spec["status"] == (by_kernel ? "skipped" : "ok"));
    if (by_kernel) CHECK(contains(spec["reason"].get<std::string>(), "no copy kernel"));
    if (!by_kernel) CHECK(spec["details"]["gated"] == false);
  }
}

TEST_CASE("bench-copy: without a size copies are as large as nvbandwidth's in its test cases") {
  Platforms platforms = core::make_platforms({}, std::make_shared<cli::testing::FakeBinder>(2));
  for (const Platform platform : {Platform::nvidia, Platform::cpu}) {
    const std::vector<Device> devices = platforms.devices(platform);
    const auto sizes = [&](const cli::BenchCopyOptions& options) {
      std::set<std::uint64_t> found;
      for (const auto& planned :
           cli::plan_bench_copy(cli::parse_bench_copy(options), devices, {})) {
        found.insert(planned.spec.size_bytes);
      }
      return found;
    };
    const bool is_gpu = platform == Platform::nvidia;
    const std::uint64_t mebibyte = 1u << 20;
    cli::BenchCopyOptions options;
    options.kinds = "h2d,d2h";
    CHECK(sizes(options) == std::set{(is_gpu ? 256 : 16) * mebibyte});
    options.kinds.clear();
    options.testcases = {"host_to_device_memcpy_ce,all_to_host_bidirectional_memcpy_sm"};
    CHECK(sizes(options) == std::set{(is_gpu ? 512 : 16) * mebibyte});
    options.sizes = "64MiB";
    CHECK(sizes(options) == std::set{64 * mebibyte});
  }
}

TEST_CASE("bench-copy: a table for people fits 80 columns and begins with the verdict") {
  Machine machine;
  machine.out.width = 80;
  CHECK(machine.run({"bench-copy", "--device", "cpu", "--samples", "9", "--size", "64KiB"}) == 0);
  CHECK(cli::testing::starts_with(machine.out.text, "6 measurements on cpu:0 in "));
  CHECK(cli::testing::widest_line(machine.out.text) <= 80);
  CHECK(contains(machine.out.text, "█"));
  CHECK(contains(machine.out.text, ", medians: h2d "));
  CHECK(std::regex_search(
      machine.out.text, std::regex("\nCopy +Size +Median +± CV  Range +Samples\nh2d +64.0 KiB +")));
  CHECK(std::regex_search(
      machine.out.text,
      std::regex("\nCopy +Size +Median +± CV  Range\nh2d +4.00 KiB +[0-9.]+ .?s +[0-9]+ %  "
                 "[0-9.]+( .?s)? to [0-9.]+ .?s\n")));
  CHECK(contains(machine.err.text, "[6/6] d2h.pinned.copy.4KiB.latency@cpu:0: "));
  machine.variables["LC_ALL"] = "C";
  CHECK(machine.run({"bench-copy", "--device", "cpu", "--samples", "9", "--size", "64KiB",
                     "--quiet"}) == 0);
  CHECK(std::all_of(machine.out.text.begin(), machine.out.text.end(),
                    [](char letter) { return static_cast<unsigned char>(letter) < 0x80; }));
  CHECK(machine.err.text.empty());
}

TEST_CASE("bench-copy: wrong words are usage errors, before a driver is opened") {
  Machine machine;
  const std::vector<std::pair<Words, std::string>> wrong{
      {{"--kind", "h2x"}, "invalid value 'h2x'"},
      {{"--kind", "h2d,"}, "empty list element"},
      {{"--memory", "pined"}, "invalid value 'pined'"},
      {{"--engine", "dma"}, "invalid value 'dma'"},
      {{"--size", "0"}, "cannot be checked"},
      {{"--size", "1001"}, "cannot be checked"},
      {{"--size", "16GiB"}, "too large"},
      {{"--size", "1MiB..4KiB"}, "not an ascending range"},
      {{"--samples", "0"}, "--samples"},
      {{"--time", "0"}, "--time"},
      {{"--time", "soon"}, "--time"},
      {{"--time", "nan"}, "--time"},
      {{"--time", "1", "--samples", "3"}, "exclude each other"},
      {{"--retry", "2/3"}, "nothing to try again"},
      {{"--fail-below", "h2d>=1GB/s", "--retry", "3/2"}, "--retry"},
      {{"--fail-below", "h2d>1"}, "is not a valid threshold"},
      {{"--testcase", "host_to_device_memcpy"}, "invalid value"},
      {{"--testcase", "device_local_copy", "--kind", "h2d"}, "--testcase"},
      {{"--kind", "d2d", "--memory", "pinned"}, "none of the copies uses host memory"},
      {{"--engine", "kernel", "--memory", "pageable"}, "cannot reach pageable"},
      {{"--level", "quik"}, "--level"},
  };
  for (const auto& entry : wrong) {
    Words words = entry.first;
    words.insert(words.begin(), "bench-copy");
    CAPTURE(entry.second);
    CHECK(machine.run(words) == 2);
    CHECK(contains(machine.err.text, entry.second));
  }
  CHECK(machine.platforms_made == 0);
}

TEST_CASE("bench-copy: baselines that are none") {
  Machine machine;
  const TemporaryFolder folder;
  CHECK(machine.run({"bench-copy", "--baseline", folder / "none.json"}) == 4);
  std::ofstream(folder / "text.json") << "hello";
  CHECK(machine.run({"bench-copy", "--baseline", folder / "text.json"}) == 4);
  CHECK(machine.platforms_made == 0);
}

TEST_CASE("sparkline: heights follow the rates, and noise of a percent stays small") {
  CHECK(results::sparkline({1, 2, 3, 4, 5, 6, 7, 8}, 8) == "▁▂▃▄▅▆▇█");
  CHECK(results::sparkline({100, 100, 99}, 8) == "██▇");
  CHECK(results::sparkline({5, 5}, 8) == "██");
  CHECK(results::sparkline({1, 1, 9, 9}, 2) == "▁█");
  CHECK(results::sparkline({}, 8).empty());
  CHECK(results::sparkline({1}, 0).empty());
}
