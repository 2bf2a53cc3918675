// SPDX-License-Identifier: MIT
/// The state of GPUs according to the sensors and the kernel's log.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "machine/codes.hpp"
#include "machine/doctor/list.hpp"
#include "machine/kernel_events.hpp"
#include "system/kernel_log.hpp"

namespace hiptool::machine {
namespace {

std::string sensor_hint(const DoctorGpu& gpu) {
  const std::string which = selection_for_tool(gpu);
  return gpu.platform == Platform::amd ? "check with `amd-smi metric" + which + "`"
                                       : "check with `nvidia-smi" + which + " -q`";
}

// An unknown check is of all GPUs with that reason.
std::string sensor_hint_for_all(const DoctorGpu& gpu) {
  return gpu.platform == Platform::amd ? "check with `amd-smi metric`"
                                       : "check with `nvidia-smi -q`";
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
                     sensor_hint_for_all(gpu));
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
                     sensor_hint_for_all(gpu));
    return;
  }
  const bool is_low = *cap < 0.999 * *usual;
  const std::string set =
      gpu.platform == Platform::amd
          ? fmt::format("`sudo amd-smi set{} --power-cap {:.0f}`", selection_for_tool(gpu), *usual)
          : fmt::format("`sudo nvidia-smi{} -pl {:.0f}`", selection_for_tool(gpu), *usual);
  list.add({"power-cap", is_low ? Severity::warn : Severity::pass, gpu.id,
            fmt::format("{}: {:.0f} W of {:.0f} W", gpu.name(), *cap, *usual), gpu.sensor_source,
            "the default", is_low ? set : ""});
}

void examine_ecc(const DoctorGpu& gpu, CheckList& list) {
  const hip::SensorReading& sensors = gpu.sensors;
  if (!sensors.uncorrected_errors && !sensors.corrected_errors && !sensors.repair_failed) {
    const bool is_off = gpu.info.ecc_enabled.has_value() && !*gpu.info.ecc_enabled;
    list.add_unknown("ecc", gpu.name(), is_off ? "ECC is off" : "the sensors do not report it",
                     gpu.sensor_source, sensor_hint_for_all(gpu));
    return;
  }
  const std::string which = selection_for_tool(gpu);
  const std::string reset = gpu.platform == Platform::amd
                                ? "`sudo amd-smi reset" + which + " --gpureset`"
                                : "`sudo nvidia-smi" + which + " --gpu-reset`";
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
            gpu.sensor_source, "not in use by other processes, which make results incomparable",
            others.empty() ? "" : "list them with `ps -o pid,user,args -p " + others + "`"});
}

void examine_sensors(const Evidence& evidence, CheckList& list) {
  const std::vector<std::string> ids{"throttle", "power-cap", "ecc", "busy"};
  is_without(evidence, std::nullopt, list, ids);
  for (const DoctorGpu& gpu : evidence.gpus) {
    if (gpu.sensor_source.empty()) {
      for (const std::string& id : ids) {
        list.add_unknown(id, gpu.name(), "no sensors: " + gpu.sensor_reason, "the sensors",
                         sensor_hint_for_all(gpu));
      }
      continue;
    }
    examine_throttle(gpu, list);
    examine_power_cap(gpu, list);
    examine_ecc(gpu, list);
    examine_busy(gpu, list);
  }
}

/// Equal events of the log, of one GPU or of none.
struct EventCount {
  KernelEvent event;  ///< the last of them
  std::uint64_t count = 0;
};

using Events = std::optional<std::vector<EventCount>>;

/// Absent where the log cannot be read.
Events read_events(const std::filesystem::path& root) {
  const auto log = system::read_kernel_log(root);
  if (!log) return {};
  std::vector<EventCount> counts;
  for (const std::string& message : *log) {
    auto event = find_event(message);
    if (!event) continue;
    auto found = std::ranges::find_if(counts, [&event](const EventCount& one) {
      return one.event.what == event->what && one.event.bus_id == event->bus_id;
    });
    if (found == counts.end()) found = counts.insert(counts.end(), EventCount{});
    found->event = std::move(*event);
    ++found->count;
  }
  std::ranges::stable_sort(counts, [](const EventCount& left, const EventCount& right) {
    return std::pair(left.event.xid, left.event.bus_id) <
           std::pair(right.event.xid, right.event.bus_id);
  });
  return counts;
}

/// The id of the GPU in a slot; empty for another.
std::string id_at(const Evidence& evidence, const std::string& bus_id) {
  for (const DoctorGpu& gpu : evidence.gpus) {
    if (!bus_id.empty() && gpu.pci && gpu.pci->bus_id == bus_id) return gpu.id;
  }
  return {};
}

void examine_xids(const Evidence& evidence, const Events& events, CheckList& list) {
  if (is_without(evidence, Platform::nvidia, list, {"xid"})) return;
  if (!events) {
    list.add_unknown("xid", "", "the kernel's log cannot be read", "/dev/kmsg",
                     "check with `sudo dmesg | grep -i xid`");
    return;
  }
  bool is_any = false;
  for (const auto& [event, count] : *events) {
    if (!event.xid) continue;
    is_any = true;
    const std::string place = event.bus_id.empty() ? "" : " at " + event.bus_id;
    list.add({"xid", event.severity, id_at(evidence, event.bus_id),
              fmt::format("{}{}, {}: {}", event.what, place, count_of(count, "time"), event.text),
              "/dev/kmsg", "none", event.fix, event.code});
  }
  if (is_any) return;
  list.add({"xid", Severity::pass, "", "no Xid in the kernel's log", "/dev/kmsg", "none", ""});
}

void examine_resets(const Evidence& evidence, const Events& events, CheckList& list) {
  if (is_without(evidence, Platform::amd, list, {"reset"})) return;
  if (!events) {
    list.add_unknown("reset", "", "the kernel's log cannot be read", "/dev/kmsg",
                     "check with `sudo dmesg | grep -iE 'amdgpu.*(reset|timeout|ras)'`");
    return;
  }
  bool is_any = false;
  for (const auto& [event, count] : *events) {
    if (event.xid) continue;
    is_any = true;
    list.add({"reset", event.severity, id_at(evidence, event.bus_id),
              fmt::format("{}, {}: {}", event.text, count_of(count, "time"), event.message),
              "/dev/kmsg", "none", event.fix, event.code});
  }
  if (is_any) return;
  list.add({"reset", Severity::pass, "", "no reset in the kernel's log", "/dev/kmsg", "none", ""});
}

}  // namespace

void examine_health(const Evidence& evidence, CheckList& list) {
  examine_sensors(evidence, list);
  const Events events = read_events(evidence.root);
  examine_xids(evidence, events, list);
  examine_resets(evidence, events, list);
}

}  // namespace hiptool::machine
