// SPDX-License-Identifier: MIT
// Synthetic trees, written by hand after the kernel's documentation of amdgpu.
#include <doctest/doctest.h>

#include <cstring>
#include <utility>

#include "hip/sensors.hpp"
#include "temporary_tree.hpp"

using hiptool::hip::SensorLibrary;
using hiptool::hip::SensorReading;
using hiptool::hip::amd::open_sensors;

namespace {

using Processes = std::vector<hiptool::hip::DeviceProcess>;

const std::string gpu = "sys/bus/pci/devices/0000:03:00.0/";

class AmdTree : public hiptool::test::TemporaryTree {
 public:
  AmdTree() {
    write("sys/module/amdgpu/refcnt", "1\n");
    write(gpu + "vendor", "0x1002\n");
  }
};

}  // namespace

TEST_CASE("amdgpu: clocks, power, memory errors and processes in base units") {
  AmdTree tree;
  tree.write(gpu + "hwmon/hwmon4/freq1_input", "2100000000\n");
  tree.write(gpu + "hwmon/hwmon4/freq2_input", "1300000000\n");
  tree.write(gpu + "hwmon/hwmon4/temp1_input", "46000\n");
  tree.write(gpu + "hwmon/hwmon4/temp2_label", "junction\n");
  tree.write(gpu + "hwmon/hwmon4/temp2_input", "61000\n");
  tree.write(gpu + "hwmon/hwmon4/temp2_crit", "110000\n");
  tree.write(gpu + "hwmon/hwmon4/temp3_label", "mem\n");
  tree.write(gpu + "hwmon/hwmon4/temp3_input", "58000\n");
  tree.write(gpu + "hwmon/hwmon4/temp3_crit", "105000\n");
  tree.write(gpu + "hwmon/hwmon4/power1_average", "151000000\n");
  tree.write(gpu + "hwmon/hwmon4/power1_cap", "550000000\n");
  tree.write(gpu + "hwmon/hwmon4/power1_cap_default", "750000000\n");
  tree.write(gpu + "ras/umc_err_count", "ue: 2\nce: 31\n");
  tree.write(gpu + "mem_info_vis_vram_total", "268435456\n");
  tree.write(gpu + "pcie_replay_count", "5\n");
  tree.write(gpu + "current_compute_partition", "CPX\n");
  tree.write(gpu + "current_memory_partition", "NPS1\n");
  tree.write(gpu + "mem_info_vram_used", "1073741824\n");
  tree.write(gpu + "gpu_busy_percent", "87\n");
  tree.write("sys/class/kfd/kfd/proc/4711/pasid", "1\n");
  const SensorLibrary library = open_sensors(tree.root());
  REQUIRE(library.sensors);
  const SensorReading reading = library.sensors->read("0000:03:00.0");
  CHECK(reading.clock_hz == 2.1e9);
  CHECK(reading.memory_clock_hz == 1.3e9);
  CHECK(reading.temperature_c == 46);
  CHECK(reading.memory_temperature_c == 58);
  CHECK(reading.memory_temperature_limit_c == 105);
  CHECK(reading.power_w == doctest::Approx(151));
  CHECK(reading.power_limit_w == doctest::Approx(550));
  CHECK(reading.default_power_limit_w == doctest::Approx(750));
  CHECK(reading.uncorrected_errors == 2);
  CHECK(reading.corrected_errors == 31);
  CHECK(reading.host_visible_bytes == 268435456);
  CHECK(reading.pcie_replays == 5);
  CHECK(reading.partitioned == true);
  CHECK(reading.memory_used_bytes == 1073741824);
  CHECK(reading.busy_share == doctest::Approx(0.87));
  CHECK(reading.processes == Processes{{4711, "", {}}});
  CHECK_FALSE(reading.throttle_reasons);
}

TEST_CASE("amdgpu: errors of memory, links and other parts, and pages of memory that are bad") {
  AmdTree tree;
  tree.write(gpu + "ras/umc_err_count", "ue: 1\nce: 2\n");
  tree.write(gpu + "ras/xgmi_wafl_err_count", "ue: 3\nce: 4\n");
  tree.write(gpu + "ras/gfx_err_count", "ue: 5\nce: 6\n");
  tree.write(gpu + "ras/sdma_err_count", "ue: 10\nce: 20\n");
  tree.write(gpu + "ras/mmhub_err_count", "Query currently inaccessible\n");
  tree.write(gpu + "ras/gpu_vram_bad_pages",
             "0x00000001 : 0x00001000 : R\n0x00000002 : 0x00001000 : R\n"
             "0x00000003 : 0x00001000 : P\n");
  const SensorLibrary library = open_sensors(tree.root());
  REQUIRE(library.sensors);
  const SensorReading reading = library.sensors->read("0000:03:00.0");
  CHECK(reading.uncorrected_errors == 1);
  CHECK(reading.corrected_errors == 2);
  CHECK(reading.link_errors == 3);
  CHECK(reading.link_corrected_errors == 4);
  CHECK(reading.part_uncorrected_errors == 15);
  CHECK(reading.part_corrected_errors == 26);
  CHECK(reading.repairs == 2);
  CHECK(reading.repair_pending == true);
  CHECK(reading.repair_failed == false);
}

TEST_CASE("amdgpu: a process belongs to the GPUs on which it has memory or a queue") {
  AmdTree tree;
  const std::string kfd = "sys/class/kfd/kfd/";
  tree.write(kfd + "topology/nodes/1/gpu_id", "51545\n");
  tree.write(kfd + "topology/nodes/1/properties", "location_id 768\n");
  tree.write(kfd + "proc/900/vram_51545", "4096\n");
  tree.write(kfd + "proc/80/vram_51545", "0\n");  // uses another GPU
  tree.write(kfd + "proc/80/queues/0/gpuid", "777\n");
  tree.write(kfd + "proc/1000/vram_51545", "0\n");
  tree.write(kfd + "proc/1000/queues/3/gpuid", "51545\n");
  tree.write(kfd + "proc/1100/pasid", "1\n");  // an older kernel
  tree.write("proc/900/comm", "train\n");
  const SensorReading reading = open_sensors(tree.root()).sensors->read("0000:03:00.0");
  CHECK(reading.processes == Processes{{900, "train", 4096}, {1000, "", 0}, {1100, "", {}}});
}

TEST_CASE("amdgpu: newer kernels give the power of the moment instead of an average") {
  AmdTree tree;
  tree.write(gpu + "hwmon/hwmon0/power1_input", "20000000\n");
  tree.write(gpu + "current_compute_partition", "SPX\n");
  const SensorReading reading = open_sensors(tree.root()).sensors->read("03:00.0");
  CHECK(reading.power_w == doctest::Approx(20));
  CHECK(reading.partitioned == false);
}

TEST_CASE("amdgpu: files that are missing or no numbers are absent") {
  AmdTree tree;
  tree.write(gpu + "hwmon/hwmon0/freq1_input", "unknown\n");
  tree.write(gpu + "ras/umc_err_count", "ue:\n");
  const SensorReading reading = open_sensors(tree.root()).sensors->read("0000:03:00.0");
  CHECK_FALSE(reading.clock_hz);
  CHECK_FALSE(reading.power_w);
  CHECK_FALSE(reading.uncorrected_errors);
  CHECK_FALSE(reading.corrected_errors);
  CHECK_FALSE(reading.partitioned);
  CHECK_FALSE(reading.processes);
}

TEST_CASE("amdgpu: no driver, no sensors; no such device, no reading") {
  hiptool::test::TemporaryTree empty;
  CHECK_FALSE(open_sensors(empty.root()).sensors);
  CHECK(open_sensors(empty.root()).reason == "the kernel driver amdgpu is not loaded");
  AmdTree tree;
  CHECK_FALSE(open_sensors(tree.root()).sensors->read("0000:04:00.0").processes);
  CHECK_FALSE(open_sensors(tree.root()).sensors->read("gpu").processes);
}

namespace {

/// A file of a version of gpu_metrics with numbers at offsets.
template <class Number>
std::string gpu_metrics(int content, std::size_t size, std::size_t offset,
                        const std::vector<Number>& numbers) {
  std::string bytes(size, '\0');
  const auto structure_size = static_cast<std::uint16_t>(size);
  std::memcpy(bytes.data(), &structure_size, sizeof structure_size);
  bytes[2] = 1;
  bytes[3] = static_cast<char>(content);
  std::memcpy(bytes.data() + offset, numbers.data(), numbers.size() * sizeof(Number));
  return bytes;
}

}  // namespace

TEST_CASE("amdgpu: why clocks are held down, by bits of the moment") {
  AmdTree tree;
  const SensorLibrary library = open_sensors(tree.root());
  REQUIRE(library.sensors);
  const auto reasons = [&](std::uint64_t bits) {
    tree.write(gpu + "gpu_metrics", gpu_metrics<std::uint64_t>(3, 120, 112, {bits}));
    CHECK(library.sensors->read("0000:03:00.0").throttle_reasons ==
          library.sensors->read_load("0000:03:00.0").throttle_reasons);
    return library.sensors->read_load("0000:03:00.0").throttle_reasons;
  };
  using Words = std::vector<std::string>;
  CHECK(reasons(0) == Words{});
  CHECK(reasons(1) == Words{"power cap"});
  CHECK(reasons(1ULL << 34 | 1ULL << 36) ==
        Words{"thermal slowdown: memory", "thermal slowdown: chip"});
  CHECK(reasons(1ULL << 47) == Words{"PROCHOT"});
  CHECK_FALSE(reasons(~0ULL));  // the driver's word for "not reported"
  tree.write(gpu + "gpu_metrics", gpu_metrics<std::uint64_t>(9, 120, 112, {1}));
  CHECK_FALSE(library.sensors->read_load("0000:03:00.0").throttle_reasons);
  tree.write(gpu + "gpu_metrics", gpu_metrics<std::uint64_t>(3, 120, 112, {1}).substr(0, 100));
  CHECK_FALSE(library.sensors->read_load("0000:03:00.0").throttle_reasons);
}

TEST_CASE("amdgpu: why clocks are held down, by what grew since the last reading") {
  using Words = std::vector<std::string>;
  for (const auto& [content, offset] : {std::pair(6, 36U), std::pair(7, 44U)}) {
    AmdTree tree;
    const SensorLibrary library = open_sensors(tree.root());
    REQUIRE(library.sensors);
    const int version = content;
    const std::size_t start = offset;
    const auto read = [&](const std::vector<std::uint32_t>& residencies) {
      tree.write(gpu + "gpu_metrics", gpu_metrics<std::uint32_t>(version, 400, start, residencies));
      return library.sensors->read_load("0000:03:00.0").throttle_reasons;
    };
    CHECK_FALSE(read({1, 2, 3, 4, 5}));
    CHECK(read({1, 2, 3, 4, 5}) == Words{});
    CHECK(read({1, 9, 3, 4, 6}) == Words{"power cap", "thermal slowdown: memory"});
    CHECK(read({2, 9, 3, 4, 6}) == Words{"PROCHOT"});
  }
}

TEST_CASE("amdgpu: PROCHOT is the hardware's protection, limits of temperature are not") {
  CHECK(hiptool::hip::is_hardware_slowdown("PROCHOT"));
  CHECK_FALSE(hiptool::hip::is_hardware_slowdown("thermal slowdown: chip"));
  CHECK(hiptool::hip::is_thermal_slowdown("thermal slowdown: chip"));
  CHECK(hiptool::hip::is_thermal_slowdown("thermal slowdown by software"));
  CHECK_FALSE(hiptool::hip::is_thermal_slowdown("thermal slowdown by hardware"));
  CHECK_FALSE(hiptool::hip::is_thermal_slowdown("power cap"));
}
