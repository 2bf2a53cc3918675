// SPDX-License-Identifier: MIT
/// The state of GPUs according to the sensors and the kernel's log.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>

#include "machine/codes.hpp"
#include "machine/doctor/list.hpp"
#include "machine/xids.hpp"
#include "system/kernel_log.hpp"

namespace hiptool::machine {
namespace {

const char* sensor_tool(Platform platform) {
  return platform == Platform::amd ? "`amd-smi metric`" : "`nvidia-smi -q`";
}

std::string sensor_hint(const DoctorGpu& gpu) {
  return std::string("check with ") + sensor_tool(gpu.platform);
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

void examine_throttle(const DoctorGpu& gpu, CheckList& list) {
  const auto& reasons = gpu.sensors.throttle_reasons;
  if (!reasons) {
    list.add_unknown("throttle", gpu.name(), "the sensors do not report it", gpu.sensor_source,
                     sensor_hint(gpu));
    return;
  }
  const bool is_free = reasons->empty();
  const bool is_by_hardware = std::ranges::any_of(
      *reasons, [](const std::string& reason) { return hip::is_hardware_slowdown(reason); });
  const Severity severity = is_free          ? Severity::pass
                            : is_by_hardware ? Severity::fail
                                             : Severity::warn;
  list.add({"throttle", severity, gpu.id,
            gpu.name() + ": " + (is_free ? "clocks are not throttled" : join(*reasons)),
            gpu.sensor_source, "no throttling",
            is_free ? "" : "check cooling and power supply; " + sensor_hint(gpu),
            severity == Severity::fail   ? codes::throttled
            : severity == Severity::warn ? codes::throttled_by_limit
                                         : ""});
}

void examine_power_cap(const DoctorGpu& gpu, CheckList& list) {
  const auto& cap = gpu.sensors.power_limit_w;
  const auto& usual = gpu.sensors.default_power_limit_w;
  if (!cap || !usual) {
    list.add_unknown("power-cap", gpu.name(), "the sensors do not report it", gpu.sensor_source,
                     sensor_hint(gpu));
    return;
  }
  const bool is_low = *cap < 0.999 * *usual;
  const std::string set = gpu.platform == Platform::amd
                              ? fmt::format("`sudo amd-smi set --power-cap {:.0f}`", *usual)
                              : fmt::format("`sudo nvidia-smi -i {} -pl {:.0f}`",
                                            gpu.pci ? gpu.pci->bus_id : std::string("0"), *usual);
  list.add({"power-cap", is_low ? Severity::warn : Severity::pass, gpu.id,
            fmt::format("{}: {:.0f} W of {:.0f} W", gpu.name(), *cap, *usual), gpu.sensor_source,
            "the default", is_low ? set : ""});
}

void examine_ecc(const DoctorGpu& gpu, CheckList& list) {
  const hip::SensorReading& sensors = gpu.sensors;
  if (!sensors.uncorrected_errors && !sensors.corrected_errors && !sensors.repair_failed) {
    const bool is_off = gpu.info.ecc_enabled.has_value() && !*gpu.info.ecc_enabled;
    list.add_unknown("ecc", gpu.name(), is_off ? "ECC is off" : "the sensors do not report it",
                     gpu.sensor_source, sensor_hint(gpu));
    return;
  }
  const std::string reset = gpu.platform == Platform::amd ? "`sudo amd-smi reset --gpureset`"
                                                          : "`sudo nvidia-smi --gpu-reset`";
  const std::string counts =
      fmt::format("{}: {} uncorrected, {} corrected memory errors", gpu.name(),
                  sensors.uncorrected_errors ? std::to_string(*sensors.uncorrected_errors) : "?",
                  sensors.corrected_errors ? std::to_string(*sensors.corrected_errors) : "?");
  const std::string expected = "none since the driver was loaded";
  if (sensors.repair_failed.value_or(false)) {
    list.add({"ecc", Severity::fail, gpu.id, counts + "; a row could not be remapped",
              gpu.sensor_source, expected, "return the card; " + sensor_hint(gpu),
              codes::ecc_repair_failed});
  } else if (sensors.uncorrected_errors.value_or(0) > 0) {
    list.add(
        {"ecc", Severity::fail, gpu.id, counts, gpu.sensor_source, expected,
         "stop the processes on it and reset it: " + reset + "; return the card if they come back",
         codes::ecc_uncorrected});
  } else if (sensors.repair_pending.value_or(false)) {
    list.add({"ecc", Severity::warn, gpu.id, counts + "; a remapping waits for a reset",
              gpu.sensor_source, expected, reset, codes::ecc_pending});
  } else {
    const bool is_any = sensors.corrected_errors.value_or(0) > 0;
    list.add({"ecc", is_any ? Severity::info : Severity::pass, gpu.id, counts, gpu.sensor_source,
              expected, is_any ? sensor_hint(gpu) : ""});
  }
}

void examine_busy(const DoctorGpu& gpu, CheckList& list) {
  const auto& processes = gpu.sensors.processes;
  if (!processes) {
    list.add_unknown("busy", gpu.name(), "the sensors do not report it", gpu.sensor_source,
                     "check with `sudo fuser -v /dev/kfd /dev/nvidia*`");
    return;
  }
  std::string others;
  for (const hip::DeviceProcess& process : *processes) {
    const std::uint64_t id = process.id;
    const auto self = static_cast<std::uint64_t>(getpid());
    if (id == self || id == static_cast<std::uint64_t>(getppid())) continue;
    others += (others.empty() ? "" : " ") + std::to_string(id);
  }
  list.add({"busy", others.empty() ? Severity::pass : Severity::warn, gpu.id,
            gpu.name() + (others.empty() ? ": no other process" : ": used by processes " + others),
            gpu.sensor_source, "no other process, or measurements cannot be compared",
            others.empty() ? "" : "list them with `ps -o pid,user,args -p " + others + "`"});
}

void examine_sensors(const Evidence& evidence, CheckList& list) {
  const std::vector<std::string> ids{"throttle", "power-cap", "ecc", "busy"};
  is_without(evidence, std::nullopt, list, ids);
  for (const DoctorGpu& gpu : evidence.gpus) {
    if (gpu.sensor_source.empty()) {
      for (const std::string& id : ids) {
        list.add_unknown(id, gpu.name(), "no sensors: " + gpu.sensor_reason, "the sensors",
                         sensor_hint(gpu));
      }
      continue;
    }
    examine_throttle(gpu, list);
    examine_power_cap(gpu, list);
    examine_ecc(gpu, list);
    examine_busy(gpu, list);
  }
}

// Counts messages such as "NVRM: Xid (PCI:0000:65:00): 79, pid='<unknown>', ..." by number.
std::map<int, std::uint64_t> count_xids(const std::vector<std::string>& log) {
  std::map<int, std::uint64_t> counts;
  for (const std::string& message : log) {
    const auto at = message.find("NVRM: Xid (");
    if (at == std::string::npos) continue;
    const auto close = message.find("): ", at);
    if (close == std::string::npos) continue;
    int number = 0;
    const char* const start = message.data() + close + 3;
    if (std::from_chars(start, message.data() + message.size(), number).ec == std::errc{}) {
      ++counts[number];
    }
  }
  return counts;
}

void examine_xids(const Evidence& evidence, const std::optional<std::vector<std::string>>& log,
                  CheckList& list) {
  if (is_without(evidence, Platform::nvidia, list, {"xid"})) return;
  if (!log) {
    list.add_unknown("xid", "", "the kernel's log cannot be read", "/dev/kmsg",
                     "check with `sudo dmesg | grep -i xid`");
    return;
  }
  const auto counts = count_xids(*log);
  for (const auto& [number, count] : counts) {
    const Xid* const known = find_xid(number);
    const std::string text = known != nullptr ? known->text : "not in this catalogue";
    const std::string fix =
        known != nullptr ? fix_of(*known) : find_code(codes::xid_unknown)->advice;
    list.add({"xid", known != nullptr ? known->severity : Severity::warn, "",
              fmt::format("Xid {}, {}: {}", number, count_of(count, "time"), text), "/dev/kmsg",
              "none", fix, code_of_xid(number)});
  }
  if (!counts.empty()) return;
  list.add({"xid", Severity::pass, "", "no Xid in the kernel's log", "/dev/kmsg", "none", ""});
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// Messages of amdgpu: "GPU reset begin!", "GPU reset(2) failed", "ring gfx timeout", "uncorrectable
// hardware errors detected" (Linux, amdgpu_device.c, amdgpu_job.c, amdgpu_ras.c).
void examine_resets(const Evidence& evidence, const std::optional<std::vector<std::string>>& log,
                    CheckList& list) {
  if (is_without(evidence, Platform::amd, list, {"reset"})) return;
  if (!log) {
    list.add_unknown("reset", "", "the kernel's log cannot be read", "/dev/kmsg",
                     "check with `sudo dmesg | grep -iE 'amdgpu.*(reset|timeout|ras)'`");
    return;
  }
  Severity worst = Severity::pass;
  std::string last;
  for (const std::string& message : *log) {
    if (!has(message, "amdgpu")) continue;
    const bool is_failure = (has(message, "GPU reset") && has(message, "failed")) ||
                            has(message, "uncorrectable hardware errors");
    const bool is_event =
        has(message, "GPU reset begin") || has(message, " timeout") || has(message, "GPU reset");
    if (!is_failure && (!is_event || worst == Severity::fail)) continue;
    worst = is_failure ? Severity::fail : Severity::warn;
    last = message;
  }
  list.add({"reset", worst, "", worst == Severity::pass ? "no reset in the kernel's log" : last,
            "/dev/kmsg", "none",
            worst == Severity::pass ? ""
                                    : "read the cause with `sudo dmesg | grep -i amdgpu`; "
                                      "reset with `sudo amd-smi reset --gpureset`"});
}

}  // namespace

void examine_health(const Evidence& evidence, CheckList& list) {
  examine_sensors(evidence, list);
  const auto log = system::read_kernel_log(evidence.root);
  examine_xids(evidence, log, list);
  examine_resets(evidence, log, list);
}

}  // namespace hiptool::machine
