// SPDX-License-Identifier: MIT
#include "accept/counters.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

using namespace hiptool;
using namespace hiptool::accept;
using machine::Severity;

namespace {

/// Two GPUs whose counters can all be read.
CounterSnapshot sound(Platform platform = Platform::nvidia) {
  CounterSnapshot snapshot;
  for (int i = 0; i < 2; ++i) {
    const std::string bus_id = "0000:" + std::to_string(65 + 10 * i) + ":00.0";
    DeviceCounters& one =
        snapshot.devices[std::string(to_string(platform)) + ":" + std::to_string(i)];
    one.platform = platform;
    one.bus_id = bus_id;
    one.sensors.corrected_errors = 12;
    one.sensors.uncorrected_errors = 0;
    one.sensors.part_corrected_errors = 0;
    one.sensors.part_uncorrected_errors = 0;
    one.sensors.repairs = 1;
    one.sensors.repair_pending = false;
    one.sensors.repair_failed = false;
    one.sensors.pcie_replays = 7;
    one.sensors.links_up = 18;
    one.sensors.link_errors = 0;
    one.sensors.link_corrected_errors = 3;
    one.ports = {{bus_id, 4, 0}, {"0000:0" + std::to_string(i) + ":01.0", 5, 0}};
  }
  snapshot.log = {{7, "usb 1-1: new device"}};
  return snapshot;
}

struct Case {
  std::string code;
  Severity severity = Severity::fail;
  std::function<void(CounterSnapshot&)> change;
  std::string part;  ///< of the reason
  Platform platform = Platform::nvidia;
  double time_s = 3;
};

DeviceCounters& second(CounterSnapshot& snapshot) { return snapshot.devices.rbegin()->second; }

Case sensor(const std::string& code, Severity severity, const std::string& part,
            std::optional<std::uint64_t> hip::SensorReading::*counter, std::uint64_t more,
            Platform platform = Platform::nvidia, double time_s = 3) {
  return {code,
          severity,
          [=](CounterSnapshot& now) {
            auto& value = second(now).sensors.*counter;
            value = *value + more;
          },
          part,
          platform,
          time_s};
}

void log(CounterSnapshot& now, const std::string& text) { now.log->push_back({8, text}); }

}  // namespace

TEST_CASE("counters: each that grows is found, with its device, its code and its rate") {
  using Reading = hip::SensorReading;
  const std::vector<Case> cases{
      sensor("HT-ECC-UNCORRECTED", Severity::fail,
             "1 uncorrected memory error in 3.00 s (20 per minute)", &Reading::uncorrected_errors,
             1),
      sensor("HT-ECC-CORRECTED", Severity::warn,
             "5 corrected memory errors in 3.00 s (100 per minute)", &Reading::corrected_errors, 5),
      sensor("HT-ECC-UNCORRECTED", Severity::fail, "2 uncorrected chip errors",
             &Reading::part_uncorrected_errors, 2, Platform::amd),
      sensor("HT-ECC-CORRECTED", Severity::warn, "1 corrected chip error",
             &Reading::part_corrected_errors, 1, Platform::amd),
      sensor("HT-ECC-REMAPPED", Severity::fail, "1 memory repair", &Reading::repairs, 1),
      sensor("HT-PCIE-REPLAY-FEW", Severity::warn, "8 PCIe replays in 3.00 s (160 per minute)",
             &Reading::pcie_replays, 8),
      sensor("HT-PCIE-REPLAY", Severity::fail, "9 PCIe replays", &Reading::pcie_replays, 9),
      sensor("HT-PCIE-REPLAY-FEW", Severity::warn, "80 PCIe replays", &Reading::pcie_replays, 80,
             Platform::nvidia, 600),
      sensor("HT-PCIE-REPLAY", Severity::fail, "81 PCIe replays", &Reading::pcie_replays, 81,
             Platform::nvidia, 600),
      sensor("HT-NVLINK-ERROR", Severity::fail, "1 NVLink error", &Reading::link_errors, 1),
      sensor("HT-NVLINK-CRC", Severity::warn, "299 NVLink CRC errors",
             &Reading::link_corrected_errors, 299),
      sensor("HT-NVLINK-ERROR", Severity::fail, "300 NVLink CRC errors",
             &Reading::link_corrected_errors, 300),
      sensor("HT-XGMI-ERROR", Severity::fail, "1 XGMI error", &Reading::link_errors, 1,
             Platform::amd),
      sensor("HT-XGMI-CORRECTED", Severity::warn, "1 corrected XGMI error",
             &Reading::link_corrected_errors, 1, Platform::amd),
      {"HT-ECC-PENDING", Severity::fail,
       [](CounterSnapshot& now) { second(now).sensors.repair_pending = true; },
       "a repair of memory waits for a reset"},
      {"HT-ECC-REPAIR-FAILED", Severity::fail,
       [](CounterSnapshot& now) { second(now).sensors.repair_failed = true; },
       "memory could not be repaired"},
      {"HT-PCIE-CORRECTED", Severity::warn,
       [](CounterSnapshot& now) { *second(now).ports[1].corrected += 2; },
       "2 corrected PCIe errors in 3.00 s (40 per minute) at 0000:01:01.0"},
      {"HT-PCIE-UNCORRECTED", Severity::fail,
       [](CounterSnapshot& now) { *second(now).ports[0].uncorrected += 1; },
       "1 uncorrected PCIe error in 3.00 s (20 per minute) at 0000:75:00.0"},
      {"HT-XID-79", Severity::fail,
       [](CounterSnapshot& now) { log(now, "NVRM: Xid (PCI:0000:75:00): 79, GPU has fallen"); },
       "the GPU fell off the bus: NVRM: Xid"},
      {"HT-XID-13", Severity::warn,
       [](CounterSnapshot& now) { log(now, "NVRM: Xid (PCI:0000:75:00): 13, pid=5"); },
       "a kernel failed"},
      {"HT-XID-OTHER", Severity::warn,
       [](CounterSnapshot& now) { log(now, "NVRM: Xid (PCI:0000:75:00): 999, new"); },
       "not in this catalogue"},
      {"HT-AMDGPU-UNCORRECTABLE", Severity::fail,
       [](CounterSnapshot& now) {
         log(now,
             "amdgpu 0000:75:00.0: amdgpu: socket: 4, die: 0 1 uncorrectable hardware errors "
             "detected in umc block");
       },
       "an uncorrectable hardware error", Platform::amd},
      {"HT-AMDGPU-RESET-FAILED", Severity::fail,
       [](CounterSnapshot& now) { log(now, "amdgpu 0000:75:00.0: amdgpu: GPU reset(2) failed"); },
       "a reset failed", Platform::amd}};
  for (const Case& one : cases) {
    CAPTURE(one.code);
    CAPTURE(one.part);
    const CounterSnapshot before = sound(one.platform);
    CounterSnapshot after = before;
    one.change(after);
    const std::vector<Fault> faults = judge_counters(before, after, one.time_s);
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].code == one.code);
    CHECK(faults[0].severity == one.severity);
    CHECK(faults[0].device == std::string(to_string(one.platform)) + ":1");
    CHECK(faults[0].reason.find(one.part) != std::string::npos);
    CHECK_FALSE(faults[0].action.empty());
    CHECK(machine::find_code(faults[0].code) != nullptr);
  }
}

TEST_CASE("counters: a port above several GPUs is one finding of the machine that names it") {
  CounterSnapshot before = sound();
  for (auto& [device, one] : before.devices) one.ports.push_back({"0000:40:03.1", 1, 0});
  before.devices["nvidia:2"] = {};  // without counters
  CounterSnapshot after = before;
  // Read one after the other, while it counts.
  *after.devices["nvidia:0"].ports[2].uncorrected += 2;
  *after.devices["nvidia:1"].ports[2].uncorrected += 3;
  *after.devices["nvidia:1"].ports[2].corrected += 4;
  const std::vector<Fault> faults = judge_counters(before, after, 3);
  REQUIRE(faults.size() == 2);
  CHECK(faults[0].code == "HT-PCIE-UNCORRECTED");
  CHECK(faults[0].severity == Severity::fail);
  CHECK(faults[0].device.empty());
  CHECK(faults[0].reason ==
        "3 uncorrected PCIe errors in 3.00 s (60 per minute) at 0000:40:03.1, "
        "the port above nvidia:0-1");
  CHECK(faults[1].code == "HT-PCIE-CORRECTED");
  CHECK(faults[1].severity == Severity::warn);
  CHECK(faults[1].device.empty());
  CHECK(faults[1].reason.find("4 corrected PCIe errors") == 0);
}

TEST_CASE("counters: what does not grow, other GPUs' messages and older ones are no findings") {
  const CounterSnapshot before = sound();
  CounterSnapshot after = before;
  CHECK(judge_counters(before, after, 3).empty());
  log(after, "NVRM: Xid (PCI:0000:c1:00): 79, of a GPU that is not examined");
  CHECK(judge_counters(before, after, 3).empty());
  after.log = {{7, "NVRM: Xid (PCI:0000:75:00): 79, read before"}};
  CHECK(judge_counters(before, after, 3).empty());
  after.log.reset();
  second(after).sensors = {};
  second(after).ports.clear();
  CHECK(judge_counters(before, after, 3).empty());
}

TEST_CASE("counters: one that was reset meanwhile counts from zero") {
  const CounterSnapshot before = sound();
  CounterSnapshot after = before;
  second(after).sensors.corrected_errors = 2;
  const std::vector<Fault> faults = judge_counters(before, after, 3);
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].reason.find("2 corrected memory errors") == 0);
}

TEST_CASE("counters: an event is one finding, however often the kernel repeats it") {
  const CounterSnapshot before = sound();
  CounterSnapshot after = before;
  for (int i = 0; i < 5; ++i) log(after, "NVRM: Xid (PCI:0000:75:00): 31, pid=5");
  CHECK(judge_counters(before, after, 3).size() == 1);
}

TEST_CASE("counters: those that cannot be read are named, each with its device") {
  CounterSnapshot snapshot = sound();
  CHECK(unread_counters(snapshot).empty());
  DeviceCounters& blind = second(snapshot);
  blind.sensors = {};
  blind.ports.clear();
  blind.reason = "NVML cannot be loaded";
  std::vector<Fault> faults = unread_counters(snapshot);
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].code == "HT-COUNTERS-UNREAD");
  CHECK(faults[0].severity == Severity::unknown);
  CHECK(faults[0].device == "nvidia:1");
  CHECK(faults[0].reason ==
        "memory errors (ECC), PCIe errors cannot be read: NVML cannot be loaded");
  blind = snapshot.devices.begin()->second;
  blind.sensors.link_errors.reset();
  faults = unread_counters(snapshot);
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].reason == "NVLink errors cannot be read: the device does not report them");
  blind.sensors.links_up.reset();  // a card without links
  CHECK(unread_counters(snapshot).empty());
  snapshot.log.reset();
  faults = unread_counters(snapshot);
  REQUIRE(faults.size() == 2);
  CHECK(faults[0].what == "kernel-log");
}
