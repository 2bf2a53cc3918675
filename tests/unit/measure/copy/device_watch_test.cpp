// SPDX-License-Identifier: MIT
#include "measure/copy/device_watch.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "devices.hpp"
#include "measure/copy/bench.hpp"
#include "support.hpp"
#include "system/pci.hpp"

using namespace hiptool;
using namespace hiptool::measure;

namespace {

// A GPU at 0000:01:00.0 whose link wakes up when it is told to.
struct MachineOfOneGpu {
  test::TemporaryFolder folder;
  test::CpuDevices gpus{1, Platform::nvidia};
  std::filesystem::path device = folder.path() / "sys/devices/pci0000:00/0000:01:00.0";

  MachineOfOneGpu() {
    std::filesystem::create_directories(device);
    const auto list = folder.path() / "sys/bus/pci/devices";
    std::filesystem::create_directories(list);
    std::filesystem::create_symlink(device, list / "0000:01:00.0");
    write("vendor", "0x10de");
    write("device", "0x2335");
    write("class", "0x030200");
    write("numa_node", "1");
    write("current_link_width", "16");
    write("max_link_width", "16");
    write("max_link_speed", "32.0 GT/s PCIe");
    set_speed("2.5 GT/s PCIe");
  }

  void write(const char* name, const std::string& text) const {
    std::ofstream(device / name) << text << '\n';
  }
  void set_speed(const std::string& text) const { write("current_link_speed", text); }
};

}  // namespace

TEST_CASE_FIXTURE(MachineOfOneGpu,
                  "context: links before, during and after; the limit is that under load") {
  DeviceWatch watch(gpus.platforms(), gpus.all(), folder.path());
  CopyBenchOptions options;
  options.sampling.least_samples = 3;
  options.sampling.most_samples = 3;
  options.root = folder.path();
  gpus.table().delay("hipMemcpyAsync", std::chrono::milliseconds(20));
  // The link is fast from the first look at the running copies on.
  options.while_copying = [&] {
    set_speed("32.0 GT/s PCIe");
    watch.look();
  };
  CopyBench bench(std::move(options));
  PlannedCopy planned;
  planned.spec.kind = CopyKind::h2d;
  planned.spec.memory = HostKind::pinned;
  planned.spec.size_bytes = 4096;
  planned.spec.devices = gpus.all();
  const CopyResult result = bench.measure(planned);
  REQUIRE(result.status == Status::ok);
  set_speed("8.0 GT/s PCIe");
  watch.finish(bench.links());

  const double under_load = system::pcie_bytes_per_s(32, 16);
  REQUIRE(result.limit);
  CHECK(result.limit->bytes_per_s == under_load);
  CHECK(result.limit->source == "pcie-link");
  REQUIRE(result.share_of_limit);
  CHECK(*result.share_of_limit ==
        doctest::Approx(result.rate_of(result.summary.median) / under_load));
  REQUIRE(watch.devices().size() == 1);
  const WatchedDevice& context = watch.devices().front();
  CHECK(context.before.link->bytes_per_s_now() == system::pcie_bytes_per_s(2.5, 16));
  REQUIRE(context.during.link);
  CHECK(context.during.link->bytes_per_s_now() == under_load);
  CHECK(context.after.link->bytes_per_s_now() == system::pcie_bytes_per_s(8, 16));
  CHECK(context.before.link->bytes_per_s_at_best() == under_load);
  CHECK(context.numa_node == 1);
}

TEST_CASE("context: a device on no bus has no link, and says why it has no sensors") {
  test::CpuDevices cpus(1);
  DeviceWatch watch(cpus.platforms(), cpus.all(), "/");
  watch.look();
  watch.finish({});
  const WatchedDevice& context = watch.devices().at(0);
  CHECK_FALSE(context.before.link);
  CHECK_FALSE(context.during.link);
  CHECK(context.sensors_source.empty());
  CHECK_FALSE(context.sensors_missing.empty());
}
