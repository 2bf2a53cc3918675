// SPDX-License-Identifier: MIT
#include "cli/commands/devices/devices_report.hpp"

#include <doctest/doctest.h>

#include "harness.hpp"

using namespace hiptool;
using namespace hiptool::cli;
using namespace hiptool::cli::testing;
using measure::DeviceFacts;
using measure::Inventory;

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
  return facts;
}

DeviceFacts cpu() {
  DeviceFacts facts;
  facts.id = "cpu:0";
  facts.info.name = "Intel(R) Xeon(R) Platinum 8592+ CPU with a very long name @ 3.80GHz";
  facts.memory = MemoryInfo{1 << 30, 4u << 30};
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
  report.document = {{"platforms", platforms_value(inventory)},
                     {"devices", devices_value(inventory)}};
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
    report.tables = {short_table(inventory, unicode)};
    const std::string text = report::to_table(report, {80, false, unicode});
    CHECK(widest_line(text) <= 80);
    CHECK(contains(text, "Intel Xeon Platinum 8592+"));
    CHECK(contains(text, "63.0 GB/s"));
    CHECK(contains(text, "  132 SMs  "));
  }
  const report::Table full = full_table(inventory);
  CHECK(full.columns.size() == 28);
  CHECK(full.rows.size() == 2);
  CHECK(full.rows.front().size() == full.columns.size());
}

TEST_CASE("the verdict names the GPUs, or the usable CPU") {
  const report::Line one = inventory_verdict({{}, {gpu(0), cpu()}, {}});
  CHECK(one.text == "1 GPU usable: nvidia:0 NVIDIA H200, 140 GiB");
  CHECK(one.tone == report::Tone::good);
  const report::Line many = inventory_verdict({{}, {gpu(0), gpu(1), gpu(2), gpu(3), gpu(4)}, {}});
  CHECK(contains(many.text, "5 GPUs usable: nvidia:0 "));
  CHECK(contains(many.text, "nvidia:2 NVIDIA H200, 140 GiB; and 2 more"));

  DeviceFacts host = cpu();
  host.info.name = "CPU";
  CHECK(inventory_verdict({{}, {host}, {}}).text == "no usable GPU; the CPU is usable: cpu:0 CPU");
  CHECK(inventory_verdict({{}, {}, {}}).text == "no usable GPU; no device found");
  system::PciDevice hardware;
  hardware.vendor = system::vendor_amd;
  const report::Line seen = inventory_verdict({{unusable_amd()}, {host}, {hardware}});
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
  const auto lines = platform_lines(inventory, false);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].text == "amd: not usable: no library");
  CHECK(lines[0].tone == report::Tone::plain);
  CHECK(lines[1].text == "  hint: install it");
  CHECK(lines[2].text == "nvidia: 2 devices, runtime 13.0, driver 580.1, /lib/driver.so");
  const auto all = platform_lines(inventory, true);
  REQUIRE(all.size() == 4);
  CHECK(all[2].text == "  tried: librun.so.7: not found");
}
