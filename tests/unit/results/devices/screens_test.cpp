// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "../../machine/tree_file.hpp"
#include "kept_screen.hpp"
#include "kernel_store/images.hpp"
#include "report/text.hpp"
#include "results/devices/doctor.hpp"
#include "results/devices/report.hpp"
#include "results/devices/topology.hpp"
#include "support.hpp"

using namespace hiptool;

namespace {

machine::DeviceFacts gpu(int number) {
  machine::DeviceFacts device;
  device.id = "amd:" + std::to_string(number);
  device.platform = Platform::amd;
  device.ordinal = number;
  device.info.name = "AMD Instinct MI300X";
  device.info.arch = "gfx942";
  device.info.memory_total_bytes = std::uint64_t{192} << 30;
  device.info.compute_units = 304;
  device.info.warp_size = 64;
  device.info.l2_cache_bytes = std::uint64_t{4} << 20;
  device.info.shared_memory_per_block_bytes = 64 << 10;
  device.info.max_threads_per_block = 1024;
  device.sensors_missing = "libamd_smi.so was not found";
  return device;
}

machine::Inventory inventory_of(int gpus) {
  machine::Inventory inventory;
  for (int i = 0; i < gpus; ++i) inventory.devices.push_back(gpu(i));
  PlatformStatus amd;
  amd.platform = Platform::amd;
  amd.usable = true;
  amd.device_count = gpus;
  amd.library = "/opt/rocm/lib/libamdhip64.so.7";
  amd.runtime_version = "7.15.0";
  amd.driver_version = "6.16.6";
  inventory.platforms.push_back(amd);
  machine::DeviceFacts cpu;
  cpu.id = "cpu:0";
  cpu.info.name = "AMD EPYC 9554 64-Core Processor";
  cpu.info.arch = "x86_64";
  cpu.info.memory_total_bytes = std::uint64_t{1152} << 30;
  cpu.info.compute_units = 128;
  inventory.devices.push_back(cpu);
  return inventory;
}

report::Report devices_report(const machine::Inventory& inventory,
                              const results::InventoryView& view) {
  report::Run run;
  run.command = "devices";
  run.end(0);
  report::Report report = report::start_report(std::move(run));
  results::add_inventory(inventory, view, report);
  report.notes.push_back(results::next_step());
  return report;
}

std::string cell(const report::Table& table, std::size_t row, std::size_t column) {
  return report::format_value(table.at(row, column), table.columns[column].unit);
}

void write(const test::TemporaryFolder& folder, const std::string& path, const std::string& text) {
  const std::filesystem::path file = folder.path() / path;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

}  // namespace

TEST_CASE("the screens of devices") {
  const test::TemporaryFolder folder;
  const std::string cache = "sys/devices/system/cpu/cpu0/cache/index";
  write(folder, cache + "0/level", "1\n");
  write(folder, cache + "0/type", "Data\n");
  write(folder, cache + "0/size", "32K\n");
  write(folder, cache + "1/level", "3\n");
  write(folder, cache + "1/type", "Unified\n");
  write(folder, cache + "1/size", "32768K\n");
  write(folder, "proc/cpuinfo", "processor : 0\nflags : fpu avx2 avx512f\n\nflags : amx_tile\n");
  results::InventoryView view;
  view.root = folder.path();
  for (const int gpus : {1, 2, 8}) {
    test::check_kept_screen("devices-" + std::to_string(gpus),
                            devices_report(inventory_of(gpus), view));
  }
  machine::Inventory cpu;
  cpu.devices = {inventory_of(0).devices.back()};
  view.is_one_in_full = true;
  test::check_kept_screen("devices-cpu", devices_report(cpu, view));
  view.is_one_in_full = false;
  if (!kernel_store::choose_image("digest", Platform::amd, "gfx942")) {
    test::skip_case("this build has no kernel images for gfx942, which the verbose screen names");
    return;
  }
  view.is_verbose = true;
  test::check_kept_screen("devices-2-verbose", devices_report(inventory_of(2), view));
}

TEST_CASE("the screens of devices --doctor and --topology") {
  machine::TreeFile trouble = machine::read_tree_file(TREES "/h200_trouble.tree");
  trouble.evidence.libraries = {
      {Platform::nvidia, "cuBLAS", "", "", "no cuBLAS was found (libcublas.so.13 or .12)", {}}};
  const std::vector<machine::Check> checks = machine::examine(trouble.evidence);
  report::Report doctor;
  doctor.run.end(1);
  doctor.verdict = {results::doctor_verdict(checks, true)};
  doctor.notes = results::finding_lines(checks, false);
  test::check_kept_screen("devices-doctor", doctor);

  const machine::TreeFile two = machine::read_tree_file(TREES "/h200x2_recorded.tree");
  machine::Inventory inventory;
  for (const machine::DoctorGpu& one : two.evidence.gpus) {
    inventory.devices.emplace_back();
    inventory.devices.back().id = one.id;
    inventory.devices.back().platform = one.platform;
    inventory.devices.back().info.pci_bus_id = one.pci->bus_id;
  }
  const results::TopologyFindings topology = results::find_topology(
      inventory, two.evidence.root, [](const std::string&, const std::string&) { return true; });
  report::Report links;
  links.run.end(0);
  links.verdict = {{report::Tone::plain, "2 GPUs usable: nvidia:0-1"}};
  links.tables = results::topology_tables(topology);
  links.tables.push_back(results::topology_pairs(topology));
  links.notes = results::topology_notes(topology);
  test::check_kept_screen("devices-topology", links);
}

TEST_CASE("GPUs that are alike share a row, unless they differ or a row each is wanted") {
  machine::Inventory inventory = inventory_of(8);
  report::Report report = devices_report(inventory, {});
  REQUIRE(report.tables.front().rows.size() == 2);
  CHECK(cell(report.tables.front(), 0, 0) == "amd:0-7");
  CHECK(cell(report.tables.front(), 0, 1) == "8 x AMD Instinct MI300X");
  CHECK(report.verdict.front().text == "8 GPUs usable: amd:0-7 AMD Instinct MI300X, 192 GiB each");
  CHECK(devices_report(inventory, {.is_verbose = true}).tables.front().rows.size() == 9);
  inventory.devices[3].info.memory_total_bytes = std::uint64_t{96} << 30;  // of a partition
  report = devices_report(inventory, {});
  REQUIRE(report.tables.front().rows.size() == 4);
  CHECK(cell(report.tables.front(), 0, 0) == "amd:0-2");
  CHECK(cell(report.tables.front(), 1, 0) == "amd:3");
  CHECK(cell(report.tables.front(), 2, 0) == "amd:4-7");
  CHECK(report.verdict.front().text.find(" each") == std::string::npos);
}

// nvidia-smi -i takes ids with commas between them, amd-smi -g with blanks.
TEST_CASE("a finding of several devices is one line, with a fix that names them all") {
  using machine::Check;
  using machine::Severity;
  const auto errors = [](const std::string& device, const std::string& fix) {
    return Check{"ecc", Severity::warn, device, device + ": 12 errors", "", "", fix, "HT-ECC"};
  };
  const std::vector<Check> checks{
      errors("nvidia:0", "`nvidia-smi -i 0000:1a:00.0 -r`; see `nvidia-smi -i 0000:1a:00.0 -q`"),
      errors("nvidia:1", "`nvidia-smi -i 0000:1b:00.0 -r`; see `nvidia-smi -i 0000:1b:00.0 -q`"),
      errors("nvidia:2", "`nvidia-smi -i GPU-8d2f -r`; see `nvidia-smi -i GPU-8d2f -q`"),
      errors("amd:0", "`amd-smi reset -g 0000:c1:00.0 --gpureset`"),
      errors("amd:1", "`amd-smi reset -g 0000:c2:00.0 --gpureset`"),
      {"busy", Severity::warn, "nvidia:0", "nvidia:0: used by 7", "", "", "`ps -p 7`", "HT-BUSY"},
      {"busy", Severity::warn, "nvidia:1", "nvidia:1: used by 8", "", "", "`ps -p 8`", "HT-BUSY"},
      {"large-bar", Severity::warn, "amd:0", "amd:0: a part", "", "", "`lspci -s c1`", "HT-BAR"},
      {"large-bar", Severity::warn, "amd:1", "amd:1: a part", "", "", "`lspci -s c2`", "HT-BAR"},
      {"xid", Severity::warn, "", "Xid 31", "", "", "restart it", "HT-XID-31"}};
  std::vector<std::string> lines;
  for (const report::Line& line : results::finding_lines(checks, false)) lines.push_back(line.text);
  CHECK(lines ==
        std::vector<std::string>{
            "warn ecc: nvidia:0-2: 12 errors [HT-ECC]",
            "  fix: `nvidia-smi -i 0000:1a:00.0,0000:1b:00.0,GPU-8d2f -r`; see `nvidia-smi -i "
            "0000:1a:00.0,0000:1b:00.0,GPU-8d2f -q`",
            "warn ecc: amd:0-1: 12 errors [HT-ECC]",
            "  fix: `amd-smi reset -g 0000:c1:00.0 0000:c2:00.0 --gpureset`",
            "warn busy: nvidia:0: used by 7 [HT-BUSY]", "  fix: `ps -p 7`",
            "warn busy: nvidia:1: used by 8 [HT-BUSY]", "  fix: `ps -p 8`",
            "warn large-bar: amd:0-1: a part [HT-BAR]", "  fix: `lspci -s c1`",
            "  fix: `lspci -s c2`", "warn xid: Xid 31 [HT-XID-31]", "  fix: restart it"});
}
