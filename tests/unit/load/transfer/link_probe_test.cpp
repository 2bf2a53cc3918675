// SPDX-License-Identifier: MIT
#include "load/transfer/link_probe.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "hiptool/pinned_buffer.hpp"
#include "small_model.hpp"
#include "unit/load/watched_device.hpp"

using namespace hiptool;

namespace {

constexpr std::uint64_t all_copies = load::probe_copies + 1;  // one warms up

struct LinkProbeFixture : test::WatchedDevice {
  std::uint64_t copies() const { return table.count("hipMemcpyAsync"); }
};

}  // namespace

// A GiB takes long under the thread sanitizer, for which the case of several links is enough.
TEST_CASE_FIXTURE(LinkProbeFixture, "a link is measured with copies of 64 MiB and without leaks" *
                                        doctest::skip(test::is_thread_sanitized)) {
  const auto before = table.live();
  table.reset();
  table.delay("hipMemcpyAsync", std::chrono::milliseconds(5));
  const auto start = std::chrono::steady_clock::now();
  const auto rates = load::measure_links({device}, nullptr);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  CHECK(copies() == all_copies);
  CHECK(table.count("hipHostRegister") == 1);
  CHECK(table.count("hipMalloc") == 1);
  REQUIRE(rates.size() == 1);
  const double bytes = load::probe_copies * static_cast<double>(load::probe_copy_bytes);
  CHECK(rates[0] >= bytes / elapsed.count());
  CHECK(rates[0] <= 1.05 * static_cast<double>(load::probe_copy_bytes) / 5e-3);
  CHECK(table.live().device_memory == before.device_memory);
  CHECK(table.live().registrations == before.registrations);
  CHECK(table.live().events == before.events);
}

TEST_CASE_FIXTURE(LinkProbeFixture, "pinned memory that is given is used if it is large enough" *
                                        doctest::skip(test::is_thread_sanitized)) {
  PinnedBuffer pinned(device, load::probe_copy_bytes);
  const std::span<std::byte> whole = pinned.bytes();
  for (const std::size_t missing_bytes : {0u, 1u}) {
    const std::span<std::byte> source = whole.first(whole.size() - missing_bytes);
    table.reset();
    CHECK(load::measure_links({device}, nullptr, {{source}}).size() == 1);
    CHECK(table.count("hipHostRegister") == missing_bytes);
    CHECK(copies() == all_copies);
  }
}

TEST_CASE_FIXTURE(LinkProbeFixture, "out of memory gives neither a rate nor an error") {
  for (const char* call : {"hipHostRegister", "hipMalloc", "hipStreamCreateWithFlags"}) {
    CAPTURE(call);
    const auto before = table.live();
    table.reset();
    table.fail(call, hip::hipErrorOutOfMemory);
    CHECK(load::measure_links({device}, nullptr).empty());
    CHECK(table.live().registrations == before.registrations);
    CHECK(table.live().device_memory == before.device_memory);
    CHECK(copies() == 0);
  }
  CHECK(load::measure_links({}, nullptr).empty());
}

TEST_CASE("a limit that the load beat is measured again, and none if it is beaten again") {
  const auto judged = [](std::vector<double> rates, std::size_t& calls) {
    calls = 0;
    return load::judge_limit(40e9, "reading reached", [&] { return rates.at(calls++); });
  };
  std::size_t calls = 0;
  const load::JudgedLimit kept = judged({40e9}, calls);
  CHECK(calls == 1);
  CHECK(kept.bytes_per_s == 40e9);
  CHECK(kept.note == "");
  const load::JudgedLimit again = judged({23e9, 74e9}, calls);
  CHECK(calls == 2);
  CHECK(again.bytes_per_s == 74e9);
  CHECK(again.note ==
        "reading reached 23.0 GB/s and, measured again, 74.0 GB/s, the load 40.0 GB/s");
  const load::JudgedLimit beaten = judged({25e9, 23e9}, calls);
  CHECK(calls == 2);
  CHECK_FALSE(beaten.bytes_per_s);
  CHECK(beaten.note ==
        "reading reached 25.0 GB/s and, measured again, 23.0 GB/s, the load 40.0 GB/s: not its "
        "limit");
  CHECK_FALSE(judged({0}, calls).bytes_per_s);
  CHECK(calls == 1);
}

// The link, or on the processor, which has none, reading.
TEST_CASE_FIXTURE(LinkProbeFixture, "limits of a load: measured twice where the load was faster" *
                                        doctest::skip(test::is_thread_sanitized)) {
  const test::TemporaryFolder folder;
  const ModelFile model = ModelFile::open(
      test::write_small_model(folder.path() / "m.safetensors", test::various_tensors()));
  const LoadPlan plan = plan_load(model, std::span(&device, 1));
  load::Transfer transfer(model, plan, {});
  const std::vector<Buffer> arenas = transfer.allocate();
  const LoadStatistics statistics = transfer.load(arenas).total;
  const auto limits_at = [&](double rate) {
    return load::measure_limits(transfer, plan, arenas, rate, false, nullptr);
  };
  table.reset();
  const LoadLimits slow = limits_at(1);
  REQUIRE(slow.lower());
  CHECK(slow.note == "");
  const std::uint64_t link_copies = device.is_host_memory() ? 0 : all_copies;
  const std::uint64_t once = copies();
  CHECK(once >= link_copies);
  table.reset();
  const LoadLimits fast = limits_at(1e18);
  CHECK_FALSE(fast.lower());
  CHECK(fast.note.ends_with("the load 1000000 TB/s: not its limit"));
  CHECK(copies() == 2 * link_copies);
  LoadReport report;
  report.statistics = statistics;
  report.limits = fast;
  CHECK(report.copied_bytes_per_s());
  CHECK_FALSE(report.share_of_limit());
  report.limits = slow;
  CHECK(report.share_of_limit() == *report.copied_bytes_per_s() / *slow.lower());
}

TEST_CASE_FIXTURE(LinkProbeFixture, "a set token ends the probe between two copies") {
  CancelToken cancel;
  table.reset();
  table.run_before(
      "hipMemcpyAsync", [&] { cancel.cancel(); }, 4);
  CHECK(test::code_of([&] { load::measure_links({device}, &cancel); }) == ErrorCode::cancelled);
  CHECK(copies() == 4);
}

TEST_CASE("links of several devices are measured at once; one that fails is an error") {
  Platforms::Options two;
  two.cpu_devices = 2;
  const auto binder = std::make_shared<test::WrapperBinder>(hip::make_registry());
  Platforms platforms = core::make_platforms(two, binder);
  const auto devices = platforms.devices(Platform::cpu);
  auto& table = *binder->table(Platform::cpu);
  table.reset();
  const auto copies = [&] { return table.count("hipMemcpyAsync"); };
  const auto rates = load::measure_links(devices, nullptr);
  REQUIRE(rates.size() == 2);
  CHECK(rates[0] > 0);
  CHECK(rates[1] > 0);
  CHECK(copies() == 2 * all_copies);
  table.fail("hipMemcpyAsync", hip::hipErrorUnknown, 6);
  CHECK(test::code_of([&] { load::measure_links(devices, nullptr); }) == ErrorCode::device);
  CHECK(copies() < 4 * all_copies);
}
