// SPDX-License-Identifier: MIT
#include "measure/copy/bench.hpp"

#include <doctest/doctest.h>

#include <atomic>

#include "devices.hpp"

using namespace hiptool;
using namespace hiptool::measure;
using namespace std::chrono_literals;

namespace {

PlannedCopy planned(CopyKind kind, const std::vector<Device>& devices) {
  PlannedCopy spec;
  spec.spec.kind = kind;
  if (uses_host(kind)) spec.spec.memory = HostKind::pinned;
  spec.spec.size_bytes = 64 << 10;
  spec.spec.devices = devices;
  return spec;
}

CopyBenchOptions options_of(std::size_t samples) {
  CopyBenchOptions options;
  options.sampling.least_samples = samples;
  options.sampling.most_samples = samples;
  return options;
}

}  // namespace

TEST_CASE("copy bench: a cell's figures belong together") {
  const test::CpuDevices devices(1);
  CopyBench bench(options_of(5));
  const CopyResult result = bench.measure(planned(CopyKind::bidir, devices.all()));
  CHECK(result.status == Status::ok);
  CHECK(result.samples_s.size() == 5);
  CHECK(result.bytes == 2 * (64 << 10));
  CHECK(result.rate_of(0.5) == 4 * (64 << 10));
  CHECK(result.is_gated);
  REQUIRE(result.tracks.size() == 2);
  CHECK(result.tracks[0].source == "host");
  CHECK(result.tracks[1].destination == "host");
  CHECK_FALSE(result.limit);
  CHECK_FALSE(result.share_of_limit);
}

TEST_CASE("copy bench: what is skipped makes no call") {
  test::CpuDevices devices(1);
  CopyBench bench(options_of(1));
  PlannedCopy spec = planned(CopyKind::h2d, devices.all());
  spec.skip_reason = "no need";
  const std::uint64_t calls = devices.table().total_count();
  const CopyResult result = bench.measure(spec);
  CHECK(result.status == Status::skipped);
  CHECK(result.reason == "no need");
  CHECK(devices.table().total_count() == calls);
}

TEST_CASE("copy bench: a failed call is the cell's, and the next cell is measured") {
  test::CpuDevices devices(1);
  CopyBench bench(options_of(2));
  devices.table().fail("hipHostMalloc", hip::hipErrorUnknown, 2);
  const CopyResult failed = bench.measure(planned(CopyKind::h2d, devices.all()));
  CHECK(failed.status == Status::failed);
  REQUIRE(failed.error);
  CHECK(failed.error->code() == ErrorCode::device);
  CHECK(failed.reason.find("hipHostMalloc") != std::string::npos);
  CHECK(bench.measure(planned(CopyKind::h2d, devices.all())).status == Status::ok);
}

TEST_CASE("copy bench: what the platform does not support is skipped with its words") {
  test::CpuDevices devices(2);
  CopyBench bench(options_of(1));
  devices.table().fail("hipMemcpyPeerAsync", hip::hipErrorNotSupported);
  const CopyResult result = bench.measure(planned(CopyKind::p2p_write, devices.all()));
  CHECK(result.status == Status::skipped);
  CHECK(result.reason.find("hipMemcpyPeerAsync") != std::string::npos);
}

TEST_CASE("copy bench: wrong data is told with its place; the samples are kept") {
  test::CpuDevices devices(1);
  CopyBenchOptions options = options_of(3);
  options.run.sample_time_s = 0;
  CopyBench bench(std::move(options));
  PlannedCopy spec = planned(CopyKind::d2h, devices.all());
  spec.spec.memory = HostKind::pageable;  // no gate: the wrapper waits for the copy it damages
  devices.table().corrupt_copy(3, 4000);  // two copies choose how many a sample takes
  const CopyResult result = bench.measure(spec);
  CHECK(result.status == Status::mismatch);
  CHECK(result.samples_s.size() == 3);
  REQUIRE(result.wrong);
  CHECK(result.wrong->first_index == 1000);
  CHECK(result.wrong->xor_bits == 0xff);
  CHECK(result.wrong->count == 1);
}

TEST_CASE("copy bench: copies that only the host saw take their time are told") {
  test::CpuDevices devices(1);
  CopyBench bench(options_of(3));
  devices.table().delay("hipStreamSynchronize", 10ms);
  const CopyResult one = bench.measure(planned(CopyKind::h2d, devices.all()));
  CHECK(one.clocks_disagree);
  CHECK_FALSE(one.is_serialised);  // one copy cannot wait for itself
  const CopyResult two = bench.measure(planned(CopyKind::bidir, devices.all()));
  CHECK(two.clocks_disagree);
  CHECK(two.is_serialised);
}

TEST_CASE("copy bench: an interrupt is thrown, not kept as a failure") {
  const test::CpuDevices devices(1);
  CancelToken cancel;
  cancel.cancel();
  CopyBenchOptions options = options_of(3);
  options.cancel = &cancel;
  CopyBench bench(std::move(options));
  CHECK_THROWS_AS(bench.measure(planned(CopyKind::h2d, devices.all())), Error);
}

TEST_CASE("copy bench: something may look on while copies run") {
  const test::CpuDevices devices(1);
  std::atomic<int> looks{0};
  CopyBenchOptions options = options_of(3);
  options.while_copying = [&] { ++looks; };
  CopyBench bench(std::move(options));
  bench.measure(planned(CopyKind::h2d, devices.all()));
  CHECK(looks >= 1);
}

TEST_CASE("copy bench: one kernel for both ways moves half of the size in each") {
  const test::CpuDevices devices(1);
  CopyBench bench(options_of(3));
  PlannedCopy spec = planned(CopyKind::d2h, devices.all());
  spec.spec.engine = CopyEngine::kernel;
  spec.spec.beside = Beside::other_way;
  const CopyResult result = bench.measure(spec);
  REQUIRE(result.status == Status::ok);
  CHECK(result.bytes == 32 << 10);
  CHECK(result.bytes_per_s.value_or(0) ==
        doctest::Approx((32 << 10) / result.median_s.value_or(1)));
  REQUIRE(result.tracks.size() == 2);
  CHECK(result.tracks[0].destination == "host");
  CHECK(result.tracks[1].source == "host");
  CHECK(result.tracks[0].bytes_per_s == doctest::Approx(result.bytes_per_s.value_or(0)));
  CHECK(result.tracks[1].bytes_per_s == result.tracks[0].bytes_per_s);
  CHECK_FALSE(result.overlap);
  CHECK_FALSE(result.is_serialised);
}
