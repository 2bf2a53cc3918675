// SPDX-License-Identifier: MIT
#include "hip/sensors.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <system_error>

#include "base/file.hpp"
#include "base/text.hpp"
#include "hip/amd/gpu_metrics.hpp"
#include "system/kfd.hpp"
#include "system/pci.hpp"

namespace hiptool::hip::amd {
namespace {

namespace fs = std::filesystem;

constexpr const char* initial_pid_namespace = "pid:[4026531836]";  // linux/proc_ns.h

std::optional<std::uint64_t> read_number(const fs::path& file) {
  return base::parse_number<std::uint64_t>(base::read_small_file(file));
}

std::optional<double> scaled(const std::optional<std::uint64_t>& number, double factor) {
  return number ? std::optional(static_cast<double>(*number) * factor) : std::nullopt;
}

/// A line "ue: 3" of a RAS counter's file.
std::optional<std::uint64_t> counter(const std::string& text, std::string_view name) {
  const std::size_t at = text.find(std::string(name) + ": ");
  if (at == std::string::npos) return {};
  const std::size_t start = at + name.size() + 2;
  return base::parse_number<std::uint64_t>(
      std::string_view(text).substr(start, text.find('\n', start) - start));
}

/// KFD's number of the GPU in a slot; empty if it does not list it.
std::string kfd_gpu_id(const fs::path& root, const std::string& bus_id) {
  for (const system::KfdNode& node : system::read_kfd_nodes(root)) {
    if (node.is_gpu && node.bus_id == bus_id) return node.gpu_id;
  }
  return {};
}

bool has_queue_on(const fs::path& process, const std::string& gpu_id) {
  const auto queues = base::list_folder(process / "queues");
  return std::ranges::any_of(queues, [&](const fs::path& queue) {
    return base::read_small_file(queue / "gpuid") == gpu_id;
  });
}

/// Processes with memory or a queue on the GPU, by the files that kfd_process.c makes: a process
/// that opened the driver has a file vram_GPU for every GPU, 0 where it uses none of the memory.
/// Older kernels have no such files: then every process of the driver counts.
std::optional<std::vector<DeviceProcess>> list_processes(const fs::path& root,
                                                         const std::string& bus_id) {
  // KFD gives the numbers of the host, which are other processes' in a container.
  std::error_code no_link;
  const fs::path space = fs::read_symlink(root / "proc/self/ns/pid", no_link);
  const bool has_host_numbers = no_link || space == initial_pid_namespace;
  const fs::path folder = root / "sys/class/kfd/kfd/proc";
  if (!base::is_there(folder)) return {};
  const std::string gpu_id = kfd_gpu_id(root, bus_id);
  std::vector<DeviceProcess> processes;
  for (const fs::path& entry : base::list_folder(folder)) {
    const auto id = base::parse_number<std::uint64_t>(entry.filename().string());
    if (!id) continue;
    const auto bytes = gpu_id.empty() ? std::nullopt : read_number(entry / ("vram_" + gpu_id));
    if (bytes && *bytes == 0 && !has_queue_on(entry, gpu_id)) continue;
    const auto name = root / "proc" / std::to_string(*id) / "comm";
    processes.push_back({*id, has_host_numbers ? base::read_small_file(name) : "", bytes});
  }
  std::ranges::sort(processes, [](const DeviceProcess& left, const DeviceProcess& right) {
    return left.id < right.id;
  });
  return processes;
}

/// amdgpu's files, after the kernel's documentation (gpu/amdgpu/thermal, driver-misc, ras).
class SysfsSensors final : public Sensors {
 public:
  explicit SysfsSensors(fs::path root) : root_(std::move(root)) {}

  const std::string& source() const noexcept override { return source_; }

  SensorReading read_load(std::string_view pci_bus_id) override {
    SensorReading reading;
    const std::string name = system::normalize_bus_id(pci_bus_id);
    if (name.empty()) return reading;
    const fs::path folder = root_ / "sys/bus/pci/devices" / name;
    read_hwmon(folder, reading);
    const GpuMetrics metrics = parse_gpu_metrics(base::read_small_file(folder / "gpu_metrics"));
    if (metrics.throttle_bits) reading.throttle_reasons = reasons_of(*metrics.throttle_bits);
    if (metrics.residencies) read_residencies(name, *metrics.residencies, reading);
    return reading;
  }

  SensorReading read(std::string_view pci_bus_id) override {
    SensorReading reading;
    const std::string name = system::normalize_bus_id(pci_bus_id);
    if (name.empty()) return reading;
    const fs::path folder = root_ / "sys/bus/pci/devices" / name;
    if (!base::is_there(folder / "vendor")) return reading;
    read_hwmon(folder, reading);
    const GpuMetrics metrics = parse_gpu_metrics(base::read_small_file(folder / "gpu_metrics"));
    if (metrics.throttle_bits) reading.throttle_reasons = reasons_of(*metrics.throttle_bits);
    read_ras(folder / "ras", reading);
    reading.host_visible_bytes = read_number(folder / "mem_info_vis_vram_total");
    reading.pcie_replays = read_number(folder / "pcie_replay_count");
    read_partition(folder, reading);
    reading.memory_used_bytes = read_number(folder / "mem_info_vram_used");
    reading.busy_share = scaled(read_number(folder / "gpu_busy_percent"), 0.01);
    reading.processes = list_processes(root_, name);
    return reading;
  }

 private:
  static void add(const std::optional<std::uint64_t>& count, std::optional<std::uint64_t>& sum) {
    if (count) sum = sum.value_or(0) + *count;
  }

  /// A file for each part of the chip that has RAS, and the list of bad pages: "0x00000001 :
  /// 0x00001000 : R", retired (R), to be retired (P) or not to be retired (F).
  static void read_ras(const fs::path& folder, SensorReading& reading) {
    for (const fs::path& file : base::list_folder(folder)) {
      const std::string name = file.filename().string();
      if (!name.ends_with("_err_count")) continue;
      const std::string errors = base::read_small_file(file);
      const bool is_memory = name.starts_with("umc_");
      const bool is_link = name.starts_with("xgmi_");
      add(counter(errors, "ue"), is_memory ? reading.uncorrected_errors
                                 : is_link ? reading.link_errors
                                           : reading.part_uncorrected_errors);
      add(counter(errors, "ce"), is_memory ? reading.corrected_errors
                                 : is_link ? reading.link_corrected_errors
                                           : reading.part_corrected_errors);
    }
    if (!base::is_there(folder / "gpu_vram_bad_pages")) return;
    const std::string pages = base::read_small_file(folder / "gpu_vram_bad_pages");
    const auto count = [&pages](std::string_view flag) {
      std::uint64_t found = 0;
      for (auto at = pages.find(flag); at != std::string::npos; at = pages.find(flag, at + 1)) {
        ++found;
      }
      return found;
    };
    reading.repairs = count(": R");
    reading.repair_pending = count(": P") > 0;
    reading.repair_failed = count(": F") > 0;
  }

  static void read_hwmon(const fs::path& device, SensorReading& reading) {
    const auto monitors = base::list_folder(device / "hwmon");  // one, "hwmon3"
    if (monitors.empty()) return;
    const fs::path& folder = monitors.front();
    reading.clock_hz = scaled(read_number(folder / "freq1_input"), 1);
    reading.memory_clock_hz = scaled(read_number(folder / "freq2_input"), 1);
    reading.temperature_c = scaled(read_number(folder / "temp1_input"), 1e-3);
    for (const std::string sensor : {"temp2", "temp3"}) {
      if (!base::read_small_file(folder / (sensor + "_label")).starts_with("mem")) continue;
      reading.memory_temperature_c = scaled(read_number(folder / (sensor + "_input")), 1e-3);
      reading.memory_temperature_limit_c = scaled(read_number(folder / (sensor + "_crit")), 1e-3);
    }
    auto power = read_number(folder / "power1_average");
    if (!power) power = read_number(folder / "power1_input");
    reading.power_w = scaled(power, 1e-6);
    reading.power_limit_w = scaled(read_number(folder / "power1_cap"), 1e-6);
    reading.default_power_limit_w = scaled(read_number(folder / "power1_cap_default"), 1e-6);
  }

  static void read_partition(const fs::path& folder, SensorReading& reading) {
    const std::string compute = base::read_small_file(folder / "current_compute_partition");
    const std::string memory = base::read_small_file(folder / "current_memory_partition");
    if (compute.empty() && memory.empty()) return;
    const bool has_one_compute = compute.empty() || compute == "SPX";
    const bool has_one_memory = memory.empty() || memory == "NPS1";
    reading.partitioned = !has_one_compute || !has_one_memory;
  }

  /// What grew since the last reading of the device held its clocks down meanwhile.
  void read_residencies(const std::string& bus_id, const Residencies& now, SensorReading& reading) {
    const std::lock_guard lock(mutex_);
    const auto last = residencies_.find(bus_id);
    if (last != residencies_.end()) reading.throttle_reasons = reasons_of(last->second, now);
    residencies_[bus_id] = now;
  }

  fs::path root_;
  std::mutex mutex_;
  std::map<std::string, Residencies> residencies_;
  std::string source_ = "sysfs of amdgpu";
};

}  // namespace

SensorLibrary open_sensors(const fs::path& root) {
  if (!base::is_there(root / "sys/module/amdgpu")) {
    return {nullptr, "the kernel driver amdgpu is not loaded"};
  }
  return {std::make_unique<SysfsSensors>(root), {}};
}

}  // namespace hiptool::hip::amd
