// SPDX-License-Identifier: MIT
#include "accept/counters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "base/units.hpp"
#include "machine/kernel_events.hpp"

namespace hiptool::accept {
namespace {

namespace codes = machine::codes;
using machine::Severity;
using Count = std::optional<std::uint64_t>;

/// How much a counter grew; 0 where it was not read twice.
std::uint64_t growth(const Count& before, const Count& after) {
  if (!before || !after) return 0;
  return *after < *before ? *after : *after - *before;
}

bool has_become_true(const std::optional<bool>& before, const std::optional<bool>& after) {
  return before.has_value() && !*before && after.value_or(false);
}

/// "12 corrected memory errors in 3.00 s (240 per minute)".
std::string rate_text(std::uint64_t count, const std::string& what, double time_s) {
  const std::string text = base::count_of(count, what);
  if (time_s <= 0) return text;
  const double per_minute = static_cast<double>(count) * 60 / time_s;
  return fmt::format(
      "{} in {} ({} per minute)", text, format_duration(time_s),
      per_minute < 100 ? fmt::format("{:.3g}", per_minute) : fmt::format("{:.0f}", per_minute));
}

Fault counter_fault(const char* code, const char* what, const std::string& device,
                    Severity severity, std::string reason, std::uint64_t count) {
  const machine::CodeInfo* const info = machine::find_code(code);
  return {code,  what,    device, std::move(reason), info->advice, std::nullopt, std::uint64_t{0},
          count, severity};
}

/// Compares the counters of one device.
class DeviceJudge {
 public:
  DeviceJudge(const std::string& device, const DeviceCounters& before, const DeviceCounters& after,
              double time_s, std::vector<Fault>& faults)
      : device_(device), before_(before), after_(after), time_s_(time_s), faults_(faults) {}

  void judge() {
    judge_memory();
    judge_parts();
    judge_pcie();
    judge_links();
  }

 private:
  using Member = Count hip::SensorReading::*;

  std::uint64_t grown(Member counter) const {
    return growth(before_.sensors.*counter, after_.sensors.*counter);
  }

  std::string rate_text(std::uint64_t count, const std::string& what) const {
    return accept::rate_text(count, what, time_s_);
  }

  void add(const char* code, const char* what, Severity severity, std::string reason,
           std::uint64_t count) {
    faults_.push_back(counter_fault(code, what, device_, severity, std::move(reason), count));
  }

  void add_growth(const char* code, const char* what, Severity severity, std::uint64_t count,
                  const std::string& thing) {
    if (count > 0) add(code, what, severity, rate_text(count, thing), count);
  }

  void judge_memory() {
    add_growth(codes::ecc_uncorrected, "ecc", Severity::fail,
               grown(&hip::SensorReading::uncorrected_errors), "uncorrected memory error");
    add_growth(codes::ecc_corrected, "ecc", Severity::warn,
               grown(&hip::SensorReading::corrected_errors), "corrected memory error");
    const std::uint64_t repairs = grown(&hip::SensorReading::repairs);
    if (repairs > 0) {
      add(codes::ecc_remapped, "memory-repair", Severity::fail,
          base::count_of(repairs, "memory repair"), repairs);
    }
    if (has_become_true(before_.sensors.repair_failed, after_.sensors.repair_failed)) {
      add(codes::ecc_repair_failed, "memory-repair", Severity::fail, "memory could not be repaired",
          1);
    }
    if (has_become_true(before_.sensors.repair_pending, after_.sensors.repair_pending)) {
      add(codes::ecc_pending, "memory-repair", Severity::fail,
          "a repair of memory waits for a reset", 1);
    }
  }

  void judge_parts() {
    add_growth(codes::ecc_uncorrected, "ras", Severity::fail,
               grown(&hip::SensorReading::part_uncorrected_errors), "uncorrected chip error");
    add_growth(codes::ecc_corrected, "ras", Severity::warn,
               grown(&hip::SensorReading::part_corrected_errors), "corrected chip error");
  }

  void judge_pcie() {
    const std::uint64_t replays = grown(&hip::SensorReading::pcie_replays);
    // A stage of some seconds has the allowance of a minute.
    const double minutes = std::max(1.0, time_s_ / 60);
    const bool is_many = static_cast<double>(replays) > most_replays_per_minute * minutes;
    add_growth(is_many ? codes::pcie_replay : codes::pcie_replay_few, "pcie-replay",
               is_many ? Severity::fail : Severity::warn, replays, "PCIe replay");
  }

  void judge_links() {
    const bool is_amd = after_.platform == Platform::amd;
    const char* const what = is_amd ? "xgmi" : "nvlink";
    add_growth(is_amd ? codes::xgmi_error : codes::nvlink_error, what, Severity::fail,
               grown(&hip::SensorReading::link_errors), is_amd ? "XGMI error" : "NVLink error");
    const std::uint64_t corrected = grown(&hip::SensorReading::link_corrected_errors);
    if (is_amd) {
      add_growth(codes::xgmi_corrected, what, Severity::warn, corrected, "corrected XGMI error");
      return;
    }
    const bool is_many =
        static_cast<double>(corrected) >= most_crc_errors_per_s * std::max(1.0, time_s_);
    add_growth(is_many ? codes::nvlink_error : codes::nvlink_crc, what,
               is_many ? Severity::fail : Severity::warn, corrected, "NVLink CRC error");
  }

  const std::string& device_;
  const DeviceCounters& before_;
  const DeviceCounters& after_;
  const double time_s_;
  std::vector<Fault>& faults_;
};

/// A port between the host and devices, read twice, and the devices below it.
struct PortGrowth {
  std::uint64_t uncorrected = 0;
  std::uint64_t corrected = 0;
  std::vector<std::string> devices;
};

std::map<std::string, PortGrowth> grown_ports(const CounterSnapshot& before,
                                              const CounterSnapshot& after) {
  std::map<std::string, PortGrowth> ports;
  for (const auto& [device, counters] : after.devices) {
    const auto earlier = before.devices.find(device);
    if (earlier == before.devices.end()) continue;
    for (const system::AerCounts& port : counters.ports) {
      const auto& list = earlier->second.ports;
      const auto found =
          std::find_if(list.begin(), list.end(),
                       [&port](const system::AerCounts& one) { return one.bus_id == port.bus_id; });
      if (found == list.end()) continue;
      // Each device reads it, at moments of its own.
      PortGrowth& grown = ports[port.bus_id];
      grown.uncorrected = std::max(grown.uncorrected, growth(found->uncorrected, port.uncorrected));
      grown.corrected = std::max(grown.corrected, growth(found->corrected, port.corrected));
      grown.devices.push_back(device);
    }
  }
  return ports;
}

/// A port above several devices is a finding of the machine: none of them is to blame.
void judge_ports(const CounterSnapshot& before, const CounterSnapshot& after, double time_s,
                 std::vector<Fault>& faults) {
  for (auto& [bus_id, port] : grown_ports(before, after)) {
    std::sort(port.devices.begin(), port.devices.end(), base::is_natural_before);
    const bool is_shared = port.devices.size() > 1;
    const std::string place =
        " at " + bus_id + (is_shared ? ", the port above " + base::ranges_of(port.devices) : "");
    const std::string device = is_shared ? std::string() : port.devices.front();
    if (port.uncorrected > 0) {
      faults.push_back(counter_fault(
          codes::pcie_uncorrected, "pcie-aer", device, Severity::fail,
          rate_text(port.uncorrected, "uncorrected PCIe error", time_s) + place, port.uncorrected));
    }
    if (port.corrected > 0) {
      faults.push_back(counter_fault(
          codes::pcie_corrected, "pcie-aer", device, Severity::warn,
          rate_text(port.corrected, "corrected PCIe error", time_s) + place, port.corrected));
    }
  }
}

/// Messages of the second reading that the first one did not have.
std::vector<std::string> new_messages(const CounterSnapshot& before, const CounterSnapshot& after) {
  std::vector<std::string> texts;
  if (!before.log || !after.log) return texts;
  std::uint64_t last = 0;
  for (const auto& message : *before.log) last = std::max(last, message.sequence);
  for (const auto& message : *after.log) {
    if (before.log->empty() || message.sequence > last) texts.push_back(message.text);
  }
  return texts;
}

/// The device of an event; empty for none, absent for a GPU that is not examined.
std::optional<std::string> device_of(const machine::KernelEvent& event,
                                     const CounterSnapshot& snapshot) {
  if (event.bus_id.empty()) return "";
  for (const auto& [id, counters] : snapshot.devices) {
    // Xids name the slot, without the function of the device.
    const auto slot = [](const std::string& bus_id) { return bus_id.substr(0, bus_id.find('.')); };
    if (slot(counters.bus_id) == slot(event.bus_id)) return id;
  }
  return {};
}

void judge_log(const CounterSnapshot& before, const CounterSnapshot& after,
               std::vector<Fault>& faults) {
  for (const std::string& message : new_messages(before, after)) {
    const auto event = machine::find_event(message);
    if (!event) continue;
    const auto device = device_of(*event, after);
    if (!device) continue;
    const auto same = [&](const Fault& one) {
      return one.code == event->code && one.what == event->what && one.device == *device;
    };
    if (std::any_of(faults.begin(), faults.end(), same)) continue;
    // While hiptool alone uses the GPU even a fault of a program is to be read.
    const Severity severity = event->severity == Severity::fail ? Severity::fail : Severity::warn;
    faults.push_back({event->code,
                      event->what,
                      *device,
                      event->text + ": " + event->message,
                      event->fix,
                      std::nullopt,
                      {},
                      event->message,
                      severity});
  }
}

void add_unread(const std::string& device, const std::string& what, const std::string& reason,
                std::vector<Fault>& faults) {
  const machine::CodeInfo* const info = machine::find_code(codes::counters_unread);
  faults.push_back(
      {info->code, what, device, reason, info->advice, std::nullopt, {}, {}, Severity::unknown});
}

}  // namespace

std::vector<Fault> judge_counters(const CounterSnapshot& before, const CounterSnapshot& after,
                                  double time_s) {
  std::vector<Fault> faults;
  for (const auto& [device, counters] : after.devices) {
    const auto found = before.devices.find(device);
    if (found == before.devices.end()) continue;
    DeviceJudge(device, found->second, counters, time_s, faults).judge();
  }
  judge_ports(before, after, time_s, faults);
  judge_log(before, after, faults);
  return faults;
}

std::vector<Fault> unread_counters(const CounterSnapshot& snapshot) {
  std::vector<Fault> faults;
  for (const auto& [device, counters] : snapshot.devices) {
    const hip::SensorReading& sensors = counters.sensors;
    std::vector<std::string> missing;
    if (!sensors.uncorrected_errors && !sensors.part_uncorrected_errors) {
      missing.emplace_back("memory errors (ECC)");
    }
    if (!sensors.pcie_replays && counters.ports.empty()) missing.emplace_back("PCIe errors");
    const bool has_links = sensors.links_up.value_or(0) > 0;
    if (has_links && !sensors.link_errors) {
      missing.emplace_back(counters.platform == Platform::amd ? "XGMI errors" : "NVLink errors");
    }
    if (!missing.empty()) {
      const std::string why =
          counters.reason.empty() ? "the device does not report them" : counters.reason;
      add_unread(device, "counters",
                 fmt::format("{} cannot be read: {}", fmt::join(missing, ", "), why), faults);
    }
    if (!snapshot.log) {
      add_unread(device, "kernel-log",
                 "the kernel's log cannot be read, so that a fault in it would not be seen",
                 faults);
    }
  }
  return faults;
}

}  // namespace hiptool::accept
