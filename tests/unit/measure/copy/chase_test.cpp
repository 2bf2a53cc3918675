// SPDX-License-Identifier: MIT
#include "measure/copy/chase.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "devices.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "measure/copy/bench.hpp"
#include "measure/copy/plan.hpp"
#include "ops/backend_kernels.hpp"

using namespace hiptool;
using namespace hiptool::measure;

namespace {

CopySpec chase_spec(CopyKind kind, const std::vector<Device>& devices) {
  CopySpec spec;
  spec.kind = kind;
  if (uses_host(kind)) spec.memory = HostKind::pinned;
  spec.engine = CopyEngine::kernel;
  spec.size_bytes = chase_bytes;
  spec.devices = devices;
  spec.is_latency = true;
  spec.is_chase = true;
  return spec;
}

}  // namespace

TEST_CASE("chase: one block of the grid follows the addresses, and says where it ends") {
  const test::CpuDevices devices(1);
  Stream stream(devices[0]);
  const Kernel kernel = ops::kernel_of(Backend::borrow_stream(stream), "hiptool_chase_block");
  // A chain in no order: 0, 3, 1, 4, 2, 0.
  std::vector<std::uint64_t> nodes(5);
  const std::vector<std::size_t> next{3, 4, 0, 1, 2};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i] = reinterpret_cast<std::uint64_t>(&nodes[next[i]]);
  }
  Buffer place(devices[0], sizeof(std::uint64_t));
  const auto end_of = [&](std::uint64_t steps, std::uint32_t block) {
    std::uint64_t end = 0;
    copy_h2d_and_wait(place, std::as_bytes(std::span(&end, 1)));
    launch(kernel, {{4}, {1}}, stream, static_cast<const void*>(nodes.data()), steps, block, place);
    stream.synchronize();
    copy_d2h_and_wait(std::as_writable_bytes(std::span(&end, 1)), place);
    return end;
  };
  const auto address = [&](std::size_t node) {
    return reinterpret_cast<std::uint64_t>(&nodes[node]);
  };
  CHECK(end_of(0, 0) == address(0));
  CHECK(end_of(1, 0) == address(3));
  CHECK(end_of(2, 3) == address(1));
  CHECK(end_of(1002, 2) == address(1));
  CHECK(end_of(1, 4) == 0);  // no such block
}

TEST_CASE("chase: a sample takes every ninth multiprocessor and its launches end where they must") {
  test::CpuDevices devices(2);
  for (const CopyKind kind : {CopyKind::h2d, CopyKind::p2p_read}) {
    CAPTURE(to_string(kind));
    const std::vector<Device> used =
        kind == CopyKind::h2d ? std::vector{devices[0]} : devices.all();
    const Device& executor = used.back();
    const auto units = static_cast<std::uint32_t>(executor.info().compute_units.value_or(1));
    const std::uint32_t parts = std::min(ChaseRun::most_parts, units);
    ChaseRun run(chase_spec(kind, used));
    devices.table().reset();
    std::uint64_t launches = 0;
    for (std::uint32_t part = 0; part < parts; ++part) {
      const CopySample sample = run.run();
      CHECK(sample.span_s > 0);
      CHECK(sample.span_s < 1e-3);  // a step, not a launch
      CHECK(run.check().count == 0);
      launches = devices.table().count("hipModuleLaunchKernel");
    }
    CHECK(launches == units);
  }
}

TEST_CASE("chase: memory that does not hold the chain is wrong data, not a latency") {
  test::CpuDevices devices(1);
  CopyBenchOptions options;
  options.sampling.least_samples = options.sampling.most_samples = 1;
  options.sampling.most_warm_ups = 0;
  CopyBench bench(options);
  const CopySpec spec = chase_spec(CopyKind::h2d, devices.all());
  const CopyResult right = bench.measure({spec, ""});
  CHECK(right.status == report::Status::ok);
  CHECK(id_of(spec) == "h2d.chase.pinned.kernel.2MiB.latency@cpu:0");
  CHECK_FALSE(right.bytes_per_s);
  CHECK(right.median_s > 0);
  // The end that is read back is the one of a launch that never came.
  test::CpuDevices::drop_copies(true);
  const CopyResult wrong = bench.measure({spec, ""});
  test::CpuDevices::drop_copies(false);
  CHECK(wrong.status == report::Status::mismatch);
  CHECK(wrong.reason.find("ended elsewhere than the chain") != std::string::npos);
}
