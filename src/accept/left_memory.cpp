// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "accept/machine.hpp"
#include "base/units.hpp"

namespace hiptool::accept {
namespace {

// Contexts of display servers and the driver itself take some hundred MiB.
constexpr std::uint64_t driver_bytes = std::uint64_t{1} << 30;

bool is_own(const hip::DeviceProcess& process) {
  return process.id == static_cast<std::uint64_t>(getpid()) ||
         process.id == static_cast<std::uint64_t>(getppid());
}

/// "python (1234) 12.3 GiB".
std::string process_text(const hip::DeviceProcess& process) {
  std::string text = process.name.empty() ? fmt::format("process {}", process.id)
                                          : fmt::format("{} ({})", process.name, process.id);
  if (process.memory_bytes) text += " " + format_size(*process.memory_bytes);
  return text;
}

std::optional<Fault> left_on(const machine::DoctorGpu& gpu) {
  std::vector<std::string> holders;
  std::vector<std::uint64_t> ids;
  if (gpu.sensors.processes) {
    for (const hip::DeviceProcess& process : *gpu.sensors.processes) {
      if (is_own(process)) continue;
      holders.push_back(process_text(process));
      ids.push_back(process.id);
    }
  }
  const std::uint64_t used = gpu.sensors.memory_used_bytes.value_or(0);
  if (holders.empty() && used <= driver_bytes) return {};
  Fault fault;
  fault.code = machine::codes::memory_left;
  fault.what = "memory-left";
  fault.device = gpu.id;
  fault.expected = "no memory held by others";
  if (holders.empty()) {
    fault.reason = format_size(used) + " in use by no process that can be seen";
    fault.action =
        "look for processes in other containers with `sudo fuser -v /dev/kfd /dev/nvidia*`; reset "
        "the GPU if there is none";
    fault.got = format_size(used);
  } else {
    fault.reason = fmt::format("held by others: {}", fmt::join(holders, ", "));
    fault.action = fmt::format("end what an earlier job left: `sudo kill {}`", fmt::join(ids, " "));
    fault.got = fmt::format("{}", fmt::join(holders, ", "));
  }
  return fault;
}

}  // namespace

std::vector<Fault> left_memory(const CheckedMachine& machine, const CheckOutcome& outcome) {
  std::vector<Fault> faults;
  for (const machine::DoctorGpu& gpu : machine.diagnosis.evidence.gpus) {
    const auto& devices = outcome.result.devices;
    const bool is_chosen = std::any_of(devices.begin(), devices.end(),
                                       [&](const auto& device) { return device.id == gpu.id; });
    if (!is_chosen) continue;
    if (auto fault = left_on(gpu)) faults.push_back(std::move(*fault));
  }
  return faults;
}

}  // namespace hiptool::accept
