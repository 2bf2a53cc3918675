// SPDX-License-Identifier: MIT
#include "results/devices/inventory.hpp"

#include <doctest/doctest.h>

#include "harness.hpp"
#include "results/devices/sensors.hpp"

using namespace hiptool;
using namespace hiptool::cli;
using namespace hiptool::cli::testing;
using machine::DeviceFacts;
using machine::Inventory;

namespace {

DeviceFacts gpu(int ordinal) {
  DeviceFacts facts;
  facts.id = "nvidia:" + std::to_string(ordinal);
  facts.platform = Platform::nvidia;
  facts.ordinal = ordinal;
  facts.info.name = "NVIDIA H200";
  facts.info.arch = "sm_90";
  facts.info.pci_bus_id = "0000:65:00.0";
  facts.info.memory_total_bytes = 150'109'880'320;
  facts.info.compute_units = 132;
  facts.info.memory_clock_hz = 3'201'000'000;
  facts.info.memory_bus_width_bits = 6144;
  facts.info.ecc_enabled = true;
  system::PciDevice pci;
  pci.numa_node = 1;
  pci.link = {2.5, 16, 32.0, 16};
  facts.pci = pci;
  facts.sensors_missing = "not read";
  return facts;
}

DeviceFacts cpu() {
  DeviceFacts facts;
  facts.id = "cpu:0";
  facts.info.name = "Intel(R) Xeon(R) Platinum 8592+ CPU with a very long name @ 3.80GHz";
  facts.memory = MemoryInfo{1 << 30, 4u << 30};
  return facts;
}

DeviceFacts gpu_with_sensors(int ordinal) {
  DeviceFacts facts = gpu(ordinal);
  hip::SensorReading& sensors = facts.sensors.emplace();
  sensors.temperature_c = 101;
  sensors.power_w = 699.5;
  sensors.power_limit_w = 1000;
  sensors.memory_used_bytes = 149'250'703'360;
  sensors.busy_share = 1;
  sensors.clock_hz = 1.98e9;
  sensors.throttle_reasons = {"power cap"};
  sensors.processes = {{4711, "train", 1u << 30}, {4712, "", {}}};
  facts.sensors_source = "a library";
  facts.sensors_missing.clear();
  return facts;
}

DeviceFacts host_with_reason() {
  DeviceFacts facts = cpu();
  facts.sensors_missing = "the cpu platform has no sensors";
  return facts;
}

PlatformStatus unusable_amd() {
  PlatformStatus status;
  status.platform = Platform::amd;
  status.reason = "no library";
  status.hint = "install it";
  status.tried = {"librun.so.7: not found"};
  return status;
}

std::string json_of(const Inventory& inventory) {
  report::Report report;
  report.document = {{"platforms", results::platforms_value(inventory)},
                     {"devices", results::devices_value(inventory)}};
  return report::to_json(report);
}

}  // namespace

TEST_CASE("the document has every field; unknown values are null") {
  const std::string text = json_of({{unusable_amd()}, {gpu(0), cpu()}, {}});
  for (const char* key : {"id",
                          "platform",
                          "ordinal",
                          "name",
                          "arch",
                          "uuid",
                          "pci_bus_id",
                          "memory_total_bytes",
                          "memory_free_bytes",
                          "compute_units",
                          "warp_size",
                          "clock_hz",
                          "memory_clock_hz",
                          "memory_bus_width_bits",
                          "memory_peak_bytes_per_s",
                          "memory_peak_source",
                          "l2_cache_bytes",
                          "max_threads_per_block",
                          "shared_memory_per_block_bytes",
                          "integrated",
                          "ecc_enabled",
                          "numa_node",
                          "kernel_image",
                          "pcie",
                          "compute_unit_name",
                          "sensors",
                          "temperature_c",
                          "memory_used_bytes",
                          "processes",
                          "speed_gt_s",
                          "width",
                          "max_speed_gt_s",
                          "max_width",
                          "peak_bytes_per_s",
                          "status",
                          "library",
                          "runtime_version",
                          "driver_version",
                          "reason",
                          "hint"}) {
    CAPTURE(key);
    CHECK(contains(text, std::string("\"").append(key).append("\":")));
  }
  CHECK(contains(text, "\"memory_free_bytes\": null"));
  CHECK(contains(text, "\"memory_free_bytes\": 1073741824"));
  CHECK(contains(text, "\"pcie\": null"));
  CHECK(contains(text, "\"library\": null"));
}

TEST_CASE("the short table fits 80 columns, the full one holds everything") {
  const Inventory inventory{{}, {gpu(0), cpu()}, {}};
  for (const bool unicode : {false, true}) {
    report::Report report;
    report.tables = {results::short_table(inventory, false)};
    const std::string text = report::to_table(report, {80, false, unicode});
    CHECK(widest_line(text) <= 80);
    CHECK(contains(text, "Intel Xeon Platinum 8592+"));
    CHECK(contains(text, "63.0 GB/s"));
    CHECK(contains(text, "  132 SMs  "));
  }
  const report::Table full = results::full_table(inventory);
  CHECK(full.columns.size() == 37);
  CHECK(full.rows.size() == 2);
  CHECK(full.rows.front().size() == full.columns.size());
}

TEST_CASE("one device in full is a list of what it reports, and a line of what it does not") {
  Machine machine;
  machine.variables.erase("COLUMNS");
  CHECK(machine.run({"devices", "cpu"}) == 0);
  CHECK(contains(machine.out.text, "\nID cpu:0\n  Platform "));
  CHECK(contains(machine.out.text, "\nnot reported: UUID; PCI bus id; "));
  CHECK_FALSE(contains(machine.out.text, "  UUID"));
  CHECK_FALSE(contains(machine.out.text, "–\n"));
  CHECK(machine.run({"devices", "cpu", "--format", "csv"}) == 0);
  CHECK(contains(machine.out.text, ",uuid,pci_bus_id,"));
}

TEST_CASE("each vendor's word for its multiprocessors") {
  DeviceFacts amd = gpu(0);
  amd.platform = Platform::amd;
  const auto title_of = [](const DeviceFacts& device) {
    for (const report::Column& column : results::full_table({{}, {device}, {}}).columns) {
      if (column.key == "compute_units") return column.title;
    }
    return std::string();
  };
  CHECK(title_of(amd) == "CUs");
  CHECK(title_of(gpu(0)) == "SMs");
  CHECK(title_of(cpu()) == "Cores");
  CHECK(contains(json_of({{}, {amd}, {}}), "\"compute_unit_name\": \"CUs\""));
}

TEST_CASE("sensors: base units in the document; a device without them gives the reason") {
  const std::string text = json_of({{}, {gpu_with_sensors(0), host_with_reason()}, {}});
  CHECK(contains(text, "\"power_w\": 699.5"));
  CHECK(contains(text, "\"memory_used_bytes\": 149250703360"));
  CHECK(contains(text, "\"pid\": 4711"));
  CHECK(contains(text, "\"name\": null"));
  CHECK(contains(text, "\"reason\": \"the cpu platform has no sensors\""));
  CHECK(contains(text, "\"processes\": null"));
  CHECK(contains(text, "\"power cap\""));
}

TEST_CASE("sensors: the tables fit 80 columns with the longest values, and leave out the cpu") {
  const DeviceFacts last = gpu_with_sensors(10);
  const std::vector<DeviceFacts> devices{gpu_with_sensors(0), last, host_with_reason()};
  for (const bool unicode : {false, true}) {
    report::Report report;
    report.run.passed = true;
    report.tables = {results::state_table(devices, unicode),
                     results::watch_table({devices[0], last}, unicode)};
    const std::string text = report::to_table(report, {80, false, unicode});
    CHECK(widest_line(text) <= 80);
    CHECK(contains(text, unicode ? "101 °C" : "101 C "));
    CHECK(contains(text, "  700 of 1000 W  "));
    CHECK(contains(text, "139 GiB of 140 GiB"));
    CHECK_FALSE(contains(text, "cpu:0"));
    CHECK(contains(text, "\nnvidia:10 "));  // as rows, not as a list of values
  }
  CHECK(results::sensor_line(last) ==
        "nvidia:10: 101 C, 700 of 1000 W, 139 GiB of 140 GiB, busy 100 %, 1.98 GHz, 2 processes, "
        "throttled: power cap");
  CHECK(results::sensor_line(gpu(0)) == "nvidia:0: no value: not read");
}

TEST_CASE("sensors: the process table is cut and says by how much") {
  const std::vector<DeviceFacts> devices{gpu_with_sensors(0), gpu_with_sensors(1)};
  CHECK(results::process_table(devices, 4).rows.size() == 4);
  const report::Table cut = results::process_table(devices, 3);
  REQUIRE(cut.rows.size() == 4);
  CHECK(report::text_of(cut.rows.back().front()) == "1 more");
}

TEST_CASE("sensors: notes give the reasons for missing sensors and for throttling of GPUs") {
  const auto lines = results::sensor_notes({gpu_with_sensors(0), gpu(1), host_with_reason()});
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].text == "nvidia:0: clocks are throttled: power cap");
  CHECK(lines[0].tone == report::Tone::warning);
  CHECK(lines[1].text == "nvidia:1: no temperature, power or processes: not read");
}

TEST_CASE("the verdict names the GPUs, or the usable CPU") {
  const report::Line one = results::inventory_verdict({{}, {gpu(0), cpu()}, {}});
  CHECK(one.text == "1 GPU usable: nvidia:0 NVIDIA H200, 140 GiB");
  CHECK(one.tone == report::Tone::good);
  const report::Line many =
      results::inventory_verdict({{}, {gpu(0), gpu(1), gpu(2), gpu(3), gpu(4)}, {}});
  CHECK(many.text == "5 GPUs usable: nvidia:0-4 NVIDIA H200, 140 GiB each");
  DeviceFacts other = gpu(4);
  other.info.name = "NVIDIA L4";
  const report::Line mixed =
      results::inventory_verdict({{}, {gpu(0), gpu(1), gpu(2), gpu(3), other}, {}});
  CHECK(contains(mixed.text, "5 GPUs usable: nvidia:0 "));
  CHECK(contains(mixed.text, "nvidia:2 NVIDIA H200, 140 GiB; and 2 more"));

  DeviceFacts host = cpu();
  host.info.name = "CPU";
  CHECK(results::inventory_verdict({{}, {host}, {}}).text ==
        "no usable GPU; the CPU is usable: cpu:0 CPU");
  CHECK(results::inventory_verdict({{}, {}, {}}).text == "no usable GPU; no device found");
  system::PciDevice hardware;
  hardware.vendor = system::vendor_amd;
  const report::Line seen = results::inventory_verdict({{unusable_amd()}, {host}, {hardware}});
  CHECK(seen.text == "no usable GPU although one is installed; the CPU is usable: cpu:0 CPU");
  CHECK(seen.tone == report::Tone::bad);
}

TEST_CASE("each platform has its line; verbose output lists the libraries tried") {
  PlatformStatus nvidia;
  nvidia.platform = Platform::nvidia;
  nvidia.usable = true;
  nvidia.device_count = 2;
  nvidia.runtime_version = "13.0";
  nvidia.driver_version = "580.1";
  nvidia.library = "/lib/driver.so";
  const Inventory inventory{{unusable_amd(), nvidia}, {}, {}};
  const auto lines = results::platform_lines(inventory, false);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].text == "amd: not usable: no library");
  CHECK(lines[0].tone == report::Tone::plain);
  CHECK(lines[1].text == "  hint: install it");
  CHECK(lines[2].text == "nvidia: 2 devices, runtime 13.0, driver 580.1, /lib/driver.so");
  const auto all = results::platform_lines(inventory, true);
  REQUIRE(all.size() == 4);
  CHECK(all[2].text == "  tried: librun.so.7: not found");
}
