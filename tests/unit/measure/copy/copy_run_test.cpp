// SPDX-License-Identifier: MIT
#include "measure/copy/copy_run.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>

#include "devices.hpp"
#include "hiptool/error.hpp"

using namespace hiptool;
using namespace hiptool::measure;
using namespace std::chrono_literals;

namespace {

CopySpec cell_of(CopyKind kind, const std::vector<Device>& devices,
                 std::uint64_t size_bytes = 64 << 10) {
  CopySpec spec;
  spec.kind = kind;
  if (uses_host(kind)) spec.memory = HostKind::pinned;
  spec.size_bytes = size_bytes;
  spec.devices = devices;
  return spec;
}

}  // namespace

TEST_CASE("copy run: small copies are queued many at a time, within what may be queued") {
  const test::CpuDevices devices(1);
  ToolBox tools;
  CopyRun::Options as_many_as_fit;
  as_many_as_fit.sample_time_s = 100;
  CopyRun small(cell_of(CopyKind::h2d, devices.all(), 4), tools, as_many_as_fit);
  CHECK(small.copies_per_sample() == most_queued - 3);
  CopyRun both(cell_of(CopyKind::bidir, devices.all(), 4), tools, as_many_as_fit);
  CHECK(both.copies_per_sample() == most_queued / 2 - 3);
  CopyRun::Options one_is_enough;
  one_is_enough.sample_time_s = 0;
  CopyRun single(cell_of(CopyKind::h2d, devices.all(), 4), tools, one_is_enough);
  CHECK(single.copies_per_sample() == 1);
}

TEST_CASE("copy run: a steady sample has 16 copies after 4 that are not timed") {
  test::CpuDevices devices(2);
  ToolBox tools;
  CopyRun::Options steady;
  steady.is_steady = true;
  const auto calls_of = [&](CopyRun& run, const char* call) {
    const std::uint64_t before = devices.table().count(call);
    CHECK(run.run().is_gated);
    const std::uint64_t calls = devices.table().count(call) - before;
    CHECK(run.check().count == 0);
    return calls;
  };
  CopyRun single(cell_of(CopyKind::h2d, {devices[0]}), tools, steady);
  CHECK(single.copies_per_sample() == 16);
  CHECK(calls_of(single, "hipMemcpyAsync") == 20);
  CopyRun both(cell_of(CopyKind::bidir, {devices[0]}), tools, steady);
  CHECK(both.copies_per_sample() == most_queued / 2 - 3);
  CHECK(calls_of(both, "hipMemcpyAsync") == 2 * (4 + most_queued / 2 - 3));
  // A kernel repeats its copy by itself.
  for (const Beside beside : {Beside::nothing, Beside::other_way, Beside::others}) {
    CopySpec spec = cell_of(CopyKind::d2h, {devices[0]});
    spec.engine = CopyEngine::kernel;
    spec.beside = beside;
    if (beside == Beside::others) spec.devices.push_back(devices[1]);
    CopyRun run(spec, tools, steady);
    CHECK(run.copies_per_sample() == 16);
    CHECK(calls_of(run, "hipModuleLaunchKernel") == 2 * spec.devices.size());
  }
  CopySpec odd = cell_of(CopyKind::d2h, {devices[0]}, 1028);
  odd.engine = CopyEngine::kernel;
  CopyRun by_bytes(odd, tools, steady);
  CHECK(calls_of(by_bytes, "hipModuleLaunchKernel") == 20);
}

TEST_CASE("copy run: copies that are not timed cannot stand in for those that are") {
  const test::CpuDevices devices(1);
  ToolBox tools;
  for (const CopyEngine engine : {CopyEngine::copy, CopyEngine::kernel}) {
    CopySpec spec = cell_of(CopyKind::d2h, devices.all());
    spec.engine = engine;
    CopyTrack track(spec, routes_of(spec).front(), 7, tools);
    track.queue_untimed(3, 2);
    track.stream().synchronize();
    CHECK(track.check(3).count == spec.size_bytes / 4);
    track.queue_passes(3, 2);
    track.stream().synchronize();
    CHECK(track.check(3).count == 0);
  }
}

TEST_CASE("copy run: a sample is gated, timed twice, and right") {
  const test::CpuDevices devices(3);
  ToolBox tools;
  const std::map<CopyKind, std::ptrdiff_t> kinds{
      {CopyKind::h2d, 1},     {CopyKind::d2h, 1},       {CopyKind::d2d, 1},
      {CopyKind::bidir, 1},   {CopyKind::p2p_read, 2},  {CopyKind::all_to_one, 3},
      {CopyKind::d2h_all, 3}, {CopyKind::all_to_all, 3}};
  for (const CopyEngine engine : {CopyEngine::copy, CopyEngine::kernel}) {
    for (const auto& entry : kinds) {
      CopySpec spec =
          cell_of(entry.first, {devices.all().begin(), devices.all().begin() + entry.second});
      spec.engine = engine;
      CAPTURE(id_of(spec));
      CopyRun run(spec, tools, {});
      const CopySample sample = run.run();
      CHECK(sample.is_gated);
      CHECK(sample.span_s > 0);
      CHECK(sample.wall_s > 0);
      CHECK(sample.tracks_s.size() == routes_of(spec).size());
      CHECK(run.check().count == 0);
    }
  }
}

TEST_CASE("copy run: memory that is not pinned goes without a gate, whose caller might block") {
  const test::CpuDevices devices(1);
  ToolBox tools;
  for (const HostKind memory : {HostKind::pageable, HostKind::managed, HostKind::registered}) {
    CopySpec spec = cell_of(CopyKind::bidir, devices.all());
    spec.memory = memory;
    CAPTURE(to_string(memory));
    CopyRun run(spec, tools, {});
    CHECK(run.run().is_gated == (memory == HostKind::registered));
    CHECK(run.check().count == 0);
  }
}

TEST_CASE("copy run: when queueing takes longer than the gate holds, it goes on without one") {
  test::CpuDevices devices(1);
  ToolBox tools;
  devices.table().delay("hipMemcpyAsync", 12ms);
  CopyRun::Options options;
  options.gate_limit = 3ms;
  CopyRun run(cell_of(CopyKind::h2d, devices.all()), tools, options);
  CHECK_FALSE(run.has_gate_expired());
  CopySample sample = run.run();
  // The thread that opens the gate may itself be late.
  for (int i = 0; i < 100 && !run.has_gate_expired(); ++i) sample = run.run();
  REQUIRE(run.has_gate_expired());
  CHECK_FALSE(sample.is_gated);
  CHECK(run.check().count == 0);
  const std::uint64_t functions = devices.table().count("hipLaunchHostFunc");
  run.run();
  CHECK(devices.table().count("hipLaunchHostFunc") == functions);
}

TEST_CASE("copy run: a gate keeps the time of queueing out of the copy's") {
  test::CpuDevices devices(1);
  ToolBox tools;
  devices.table().delay("hipMemcpyAsync", 60ms);
  CopyRun gated(cell_of(CopyKind::h2d, devices.all()), tools, {});
  // A busy machine only adds time, so the shortest of five has none of the queueing.
  double span_s = 1;
  double wall_s = 1;
  for (int i = 0; i < 5; ++i) {
    const CopySample sample = gated.run();
    CHECK(sample.is_gated);
    span_s = std::min(span_s, sample.span_s);
    wall_s = std::min(wall_s, sample.wall_s);
  }
  CHECK(span_s < 0.04);
  CHECK(wall_s < 0.04);
  CopySpec pageable = cell_of(CopyKind::h2d, devices.all());
  pageable.memory = HostKind::pageable;
  CopyRun open(pageable, tools, {});
  CHECK(open.run().span_s > 0.059);
}

TEST_CASE("copy run: one wrong byte is found where it arrived, in the sample it arrived in") {
  test::CpuDevices devices(2);
  ToolBox tools;
  devices.table().delay("hipMemcpyAsync", 3ms);  // so that a sample is one copy
  devices.table().delay("hipMemcpyPeerAsync", 3ms);
  for (const CopyKind kind :
       {CopyKind::h2d, CopyKind::d2h, CopyKind::d2d, CopyKind::p2p_write, CopyKind::p2p_read}) {
    CAPTURE(to_string(kind));
    CopySpec spec = cell_of(kind, {devices[0]});
    if (uses_peers(kind)) spec.devices.push_back(devices[1]);
    // The wrapper waits for the copy that it damages, which a gate would never let happen.
    CopyRun::Options without_gate;
    without_gate.gate_limit = 1ms;
    without_gate.sample_time_s = 0;
    CopyRun run(spec, tools, without_gate);
    REQUIRE(run.copies_per_sample() == 1);
    for (int i = 0; i < 100 && !run.has_gate_expired(); ++i) run.run();
    REQUIRE(run.has_gate_expired());
    CHECK(run.check().count == 0);
    devices.table().corrupt_copy(1, 302);
    run.run();
    const WrongWords wrong = run.check();
    CHECK(wrong.count == 1);
    CHECK(wrong.first_index == 75);
    CHECK(wrong.xor_bits == 0x00ff0000u);
    run.run();
    CHECK(run.check().count == 0);
  }
}

TEST_CASE("copy run: a copy that did not happen is seen, since every sample has another pattern") {
  const test::CpuDevices devices(1);
  ToolBox tools;
  for (const CopyKind kind : {CopyKind::d2h, CopyKind::d2d}) {
    CAPTURE(to_string(kind));
    CopyRun run(cell_of(kind, devices.all()), tools, {});
    run.run();
    CHECK(run.check().count == 0);
    WrongWords wrong;
    test::CpuDevices::drop_copies(true);
    run.run();
    // What checks on the device copies its own result; that must not be dropped.
    test::CpuDevices::drop_copies(false);
    wrong = run.check();
    CHECK(wrong.count == (64 << 10) / 4);
    CHECK(wrong.first_index == 0);
    run.run();
    CHECK(run.check().count == 0);
  }
}

TEST_CASE("copy run: access to peers is taken for its time, once for each direction") {
  test::CpuDevices devices(2);
  ToolBox tools;
  {
    CopyRun run(cell_of(CopyKind::p2p_bidir, devices.all()), tools, {});
    CHECK(devices.table().count("hipDeviceEnablePeerAccess") == 2);
    CHECK(devices.table().count("hipDeviceDisablePeerAccess") == 0);
  }
  CHECK(devices.table().count("hipDeviceDisablePeerAccess") == 2);
  // Also where a device copies one way only, as in programs that use several.
  devices.table().reset();
  { const CopyRun run(cell_of(CopyKind::p2p_read, devices.all()), tools, {}); }
  CHECK(devices.table().count("hipDeviceEnablePeerAccess") == 2);
  CHECK(devices.table().count("hipDeviceDisablePeerAccess") == 2);
}

TEST_CASE("copy run: everything is released, also when a call fails with a gate closed") {
  test::CpuDevices devices(2);
  for (const char* call : {"", "hipMemcpyPeerAsync", "hipEventRecord", "hipStreamWaitEvent",
                           "hipEventQuery", "hipStreamSynchronize"}) {
    CAPTURE(call);
    devices.table().reset();
    {
      ToolBox tools;
      CopyRun run(cell_of(CopyKind::p2p_bidir, devices.all()), tools, {});
      if (*call == '\0') {
        run.run();
      } else {
        devices.table().fail(call, hip::hipErrorUnknown, 2);
        CHECK_THROWS_AS(run.run(), Error);
      }
    }
    CHECK(devices.table().live().is_empty());
  }
}

TEST_CASE("copy run: latency is that of one copy and the wait for it") {
  test::CpuDevices devices(1);
  ToolBox tools;
  CopySpec spec = cell_of(CopyKind::d2h, devices.all(), 4096);
  spec.is_latency = true;
  CopyRun run(spec, tools, {});
  devices.table().delay("hipMemcpyAsync", 5ms);
  devices.table().reset();
  devices.table().delay("hipStreamSynchronize", 5ms);
  const CopySample sample = run.run();
  CHECK(sample.span_s >= 0.005);
  CHECK(sample.span_s < 0.5);
  CHECK(devices.table().count("hipMemcpyAsync") == 1);
  CHECK_FALSE(sample.is_gated);
  CHECK(run.check().count == 0);
}

TEST_CASE("copy run: without kernels the host writes and checks; a copy by kernel is unsupported") {
  test::CpuDevices gpus(1, Platform::nvidia);
  ToolBox tools;
  CopySpec spec = cell_of(CopyKind::d2d, gpus.all());
  CopyRun run(spec, tools, {});
  CHECK_FALSE(run.run().is_gated);
  CHECK(run.check().count == 0);
  spec.engine = CopyEngine::kernel;
  try {
    const CopyRun by_kernel(spec, tools, {});
    FAIL("a kernel from nowhere");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::unsupported);
    CHECK(std::string(error.what()).find("no copy kernel for nvidia:0") == 0);
  }
}

TEST_CASE(
    "copy run: beside others the time is that of the first copy, of a sum that of the rates") {
  const test::CpuDevices devices(2);
  ToolBox tools;
  CopySpec lane = cell_of(CopyKind::h2d, devices.all());
  lane.beside = Beside::others_both_ways;
  CopyRun run(lane, tools, {});
  const CopySample sample = run.run();
  REQUIRE(sample.tracks_s.size() == 4);
  CHECK(sample.span_s == sample.tracks_s.front());
  CHECK(run.check().count == 0);
  CopySpec both = cell_of(CopyKind::p2p_bidir, devices.all());
  both.sums_copies = true;
  CopyRun summed(both, tools, {});
  const CopySample times = summed.run();
  REQUIRE(times.tracks_s.size() == 2);
  const double bytes = static_cast<double>(both.size_bytes);
  CHECK(2 * bytes / times.span_s ==
        doctest::Approx(bytes / times.tracks_s[0] + bytes / times.tracks_s[1]));
  CHECK(summed.check().count == 0);
}

TEST_CASE("copy run: one kernel on each device copies both ways, and either is checked") {
  test::CpuDevices devices(2);
  for (const CopyKind kind : {CopyKind::h2d, CopyKind::d2h}) {
    CAPTURE(to_string(kind));
    ToolBox tools;
    CopySpec spec = cell_of(kind, {devices[0]});
    spec.engine = CopyEngine::kernel;
    spec.beside = Beside::other_way;
    CopyRun::Options one_copy;
    one_copy.sample_time_s = 0;
    CopyRun run(spec, tools, one_copy);
    const std::uint64_t launches = devices.table().count("hipModuleLaunchKernel");
    const CopySample sample = run.run();
    CHECK(devices.table().count("hipModuleLaunchKernel") == launches + 1);
    CHECK(sample.is_gated);
    REQUIRE(sample.tracks_s.size() == 2);
    CHECK(sample.tracks_s[0] == sample.tracks_s[1]);
    CHECK(sample.span_s == sample.tracks_s[0]);
    CHECK(run.check().count == 0);
    // The first stretch of 32 lanes is copied the way of the kind.
    const std::uint64_t to_device = kind == CopyKind::h2d ? 1024 : 512;
    const std::uint64_t to_host = 60 * 1024 + 1536 - to_device;
    devices.table().damage_largest(to_device + 8);
    WrongWords wrong = run.check();
    CHECK(wrong.count == 1);
    CHECK(wrong.first_index == to_device / 4 + 2);
    // The next copy puts that right, and takes what is damaged in its source to the host.
    devices.table().damage_largest(to_host + 8);
    run.run();
    wrong = run.check();
    CHECK(wrong.count == 1);
    CHECK(wrong.first_index % 128 == 2);
    CHECK(wrong.xor_bits == 0xff);
  }
  ToolBox tools;
  CopySpec lane = cell_of(CopyKind::d2h, devices.all());
  lane.engine = CopyEngine::kernel;
  lane.beside = Beside::others_both_ways;
  CopyRun run(lane, tools, {});
  const CopySample sample = run.run();
  CHECK(sample.tracks_s.size() == 4);
  CHECK(sample.span_s == sample.tracks_s.front());
  CHECK(run.check().count == 0);
}
