// SPDX-License-Identifier: MIT
#include "machine/doctor/probe.hpp"

#include <doctest/doctest.h>

#include "../system/synthetic_tree.hpp"

using namespace hiptool;
using namespace hiptool::machine;

namespace {

ProbeResult result_of(const std::vector<Record>& records,
                      const std::filesystem::path& root = "/nowhere") {
  std::string text;
  for (const Record& record : records) text += to_text(record);
  ProbeResult result;
  result.answer.status.platform = Platform::nvidia;
  RecordReader reader;
  for (const char c : text) {  // as it may come from a pipe
    for (const Record& record : reader.add(std::string_view(&c, 1))) apply(record, root, result);
  }
  return result;
}

DoctorGpu full_gpu() {
  DoctorGpu gpu;
  gpu.id = "nvidia:3";
  gpu.info.name = "a \\ name\nof = two lines";
  gpu.info.arch = "sm_90";
  gpu.info.uuid = "GPU-1";
  gpu.info.pci_bus_id = "0000:65:00.0";
  gpu.info.memory_total_bytes = UINT64_MAX;
  gpu.info.clock_hz = 1'980'000'000;
  gpu.info.integrated = false;
  gpu.info.ecc_enabled = true;
  gpu.memory = MemoryInfo{1, 2};
  gpu.sensors.temperature_c = 31.25;
  gpu.sensors.throttle_reasons = {"power cap", "heat"};
  gpu.sensors.processes = std::vector<hip::DeviceProcess>{{7, "train", 4096}, {8, "", {}}};
  gpu.sensors.memory_used_bytes = 8192;
  gpu.sensors.busy_share = 0.25;
  gpu.sensors.repair_pending = true;
  gpu.sensor_source = "a library";
  return gpu;
}

}  // namespace

TEST_CASE("records: a device comes back as it was sent, absent stays absent") {
  const ProbeResult result = result_of({gpu_record(full_gpu())});
  REQUIRE(result.gpus.size() == 1);
  const DoctorGpu& gpu = result.gpus.front();
  CHECK(gpu.platform == Platform::nvidia);
  CHECK(gpu.id == "nvidia:3");
  CHECK(gpu.info.name == full_gpu().info.name);
  CHECK(gpu.info.memory_total_bytes == UINT64_MAX);
  CHECK(gpu.info.clock_hz == 1'980'000'000);
  CHECK(gpu.info.integrated == false);
  CHECK(gpu.info.ecc_enabled == true);
  CHECK_FALSE(gpu.info.warp_size);
  CHECK(gpu.memory->total_bytes == 2);
  CHECK(gpu.sensors.temperature_c == 31.25);
  CHECK(gpu.sensors.throttle_reasons == full_gpu().sensors.throttle_reasons);
  CHECK(gpu.sensors.processes == full_gpu().sensors.processes);
  CHECK(gpu.sensors.memory_used_bytes == 8192);
  CHECK(gpu.sensors.busy_share == 0.25);
  CHECK(gpu.sensors.repair_pending == true);
  CHECK_FALSE(gpu.sensors.repair_failed);
  CHECK(gpu.sensor_source == "a library");
}

TEST_CASE("records: an empty list of reasons is not an absent one") {
  DoctorGpu gpu;
  gpu.id = "nvidia:0";
  gpu.sensors.throttle_reasons.emplace();
  const ProbeResult result = result_of({gpu_record(gpu)});
  REQUIRE(result.gpus.front().sensors.throttle_reasons);
  CHECK(result.gpus.front().sensors.throttle_reasons->empty());
  CHECK_FALSE(result.gpus.front().sensors.processes);
}

TEST_CASE("records: status, steps, ways and peers") {
  PlatformStatus status;
  status.usable = true;
  status.device_count = 2;
  status.library = "/lib/driver.so";
  status.tried = {"one", "two"};
  system::PciPath path;
  path.hops = {{"0000:65:00.0", {32.0, 16, 32.0, 16}}, {"0000:64:00.0", {}}};
  const ProbeResult result =
      result_of({step_record("starting it"), status_record(status), gpu_record(full_gpu()),
                 path_record("nvidia:3", path), step_record("copying"),
                 peer_record({"nvidia:0", "nvidia:3", true, false}),
                 peer_record({"nvidia:3", "nvidia:0", false, {}})});
  CHECK(result.answer.kind == PlatformAnswer::Kind::answered);
  CHECK(result.answer.status.usable);
  CHECK(result.answer.status.device_count == 2);
  CHECK(result.answer.status.tried == status.tried);
  CHECK(result.answer.detail == "copying");
  REQUIRE(result.gpus.front().path_under_load);
  CHECK(result.gpus.front().path_under_load->hops.size() == 2);
  CHECK(result.gpus.front().path_under_load->hops[0].link.width == 16);
  CHECK_FALSE(result.gpus.front().path_under_load->hops[1].link.speed_gt_s);
  REQUIRE(result.peers.size() == 2);
  CHECK(result.peers[0].is_copy_right == false);
  CHECK_FALSE(result.peers[1].is_copy_right);
}

TEST_CASE("records: what is not whole or not known changes nothing") {
  RecordReader reader;
  CHECK(reader.add("noise\n\n{\"record\":\"gpu\",\n[1]\n3\n").empty());
  CHECK(reader.add("{\"record\":\"status\",\"usable\"").empty());
  CHECK(reader.add(":true,\"reason\":7}").empty());
  const auto records = reader.add("\n");
  REQUIRE(records.size() == 1);
  CHECK(records[0].name == "status");
  ProbeResult status;
  apply(records[0], "/nowhere", status);
  CHECK(status.answer.status.usable);
  CHECK(status.answer.status.reason.empty());  // of another type than a text
  ProbeResult result;
  apply({"new-thing", {{"id", "1"}}}, "/nowhere", result);
  CHECK(result.gpus.empty());
  CHECK(result.answer.kind == PlatformAnswer::Kind::not_asked);
}

TEST_CASE("records: a bus id that is another vendor's device here names no device") {
  const system::SyntheticTree tree;
  tree.add_pci("0000:65:00.0", "0x8086", "0x0001", "0x060000", "");
  CHECK_FALSE(result_of({gpu_record(full_gpu())}, tree.root()).gpus.front().pci);
  const system::SyntheticTree right;
  right.add_pci("0000:65:00.0", "0x10de", "0x2335", "0x030200", "nvidia");
  CHECK(result_of({gpu_record(full_gpu())}, right.root()).gpus.front().pci);
}

TEST_CASE("records: a library comes back as it was sent") {
  const LibraryAnswer sent{Platform::nvidia, "cuBLAS", "/a b", "12.1", "why", {"gfx90a", "gfx942"}};
  const ProbeResult result = result_of({library_record(sent)});
  REQUIRE(result.libraries.size() == 1);
  const LibraryAnswer& got = result.libraries.front();
  CHECK(got.platform == Platform::nvidia);
  CHECK(got.name == sent.name);
  CHECK(got.path == sent.path);
  CHECK(got.version == sent.version);
  CHECK(got.reason == sent.reason);
  CHECK(got.targets == sent.targets);
}
