// SPDX-License-Identifier: MIT
#include "hip/sensors.hpp"

#include <algorithm>
#include <system_error>

#include "base/file.hpp"
#include "base/text.hpp"
#include "system/pci.hpp"

namespace hiptool::hip::amd {
namespace {

namespace fs = std::filesystem;

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

/// Processes with a queue or memory on any AMD GPU; KFD does not say on which.
std::optional<std::vector<std::uint64_t>> list_processes(const fs::path& root) {
  std::error_code error;
  fs::directory_iterator entry(root / "sys/class/kfd/kfd/proc", error);
  if (error) return {};
  std::vector<std::uint64_t> ids;
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const auto id = base::parse_number<std::uint64_t>(entry->path().filename().string());
    if (id) ids.push_back(*id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

/// amdgpu's files, after the kernel's documentation (gpu/amdgpu/thermal, driver-misc, ras).
class SysfsSensors final : public Sensors {
 public:
  explicit SysfsSensors(fs::path root) : root_(std::move(root)) {}

  const std::string& source() const noexcept override { return source_; }

  SensorReading read(std::string_view pci_bus_id) override {
    SensorReading reading;
    const std::string name = system::normalize_bus_id(pci_bus_id);
    if (name.empty()) return reading;
    const fs::path folder = root_ / "sys/bus/pci/devices" / name;
    if (!base::is_there(folder / "vendor")) return reading;
    const auto monitors = base::list_folder(folder / "hwmon");  // one, "hwmon3"
    if (!monitors.empty()) read_hwmon(monitors.front(), reading);
    const std::string errors = base::read_small_file(folder / "ras/umc_err_count");
    reading.uncorrected_errors = counter(errors, "ue");
    reading.corrected_errors = counter(errors, "ce");
    reading.host_visible_bytes = read_number(folder / "mem_info_vis_vram_total");
    reading.pcie_replays = read_number(folder / "pcie_replay_count");
    read_partition(folder, reading);
    reading.process_ids = list_processes(root_);
    return reading;
  }

 private:
  static void read_hwmon(const fs::path& folder, SensorReading& reading) {
    reading.clock_hz = scaled(read_number(folder / "freq1_input"), 1);
    reading.memory_clock_hz = scaled(read_number(folder / "freq2_input"), 1);
    reading.temperature_c = scaled(read_number(folder / "temp1_input"), 1e-3);
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

  fs::path root_;
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
