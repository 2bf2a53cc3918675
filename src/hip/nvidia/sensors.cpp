// SPDX-License-Identifier: MIT
#include "hip/sensors.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include "base/dynamic_library.hpp"
#include "base/file.hpp"
#include "hip/nvidia/driver_files.hpp"
#include "hip/nvidia/nvml.hpp"
#include "system/pci.hpp"

namespace hiptool::hip::nvidia {
namespace {

/// Fills the table; the name of the first call that is missing but needed, or null.
const char* load(const base::DynamicLibrary& library, Nvml& nvml) {
  const char* missing = nullptr;
  Nvml::for_each([&](auto member, const char* name, Need need) {
    using Function = std::remove_reference_t<decltype(nvml.*member)>;
    nvml.*member = library.function<Function>(name);
    const bool is_missing = nvml.*member == nullptr && need == Need::required;
    if (is_missing && missing == nullptr) missing = name;
  });
  return missing;
}

/// The value that a call returns, unless it is missing or not supported.
template <class Number, class Function, class... Arguments>
std::optional<Number> ask(Function function, Arguments... arguments) {
  Number number{};
  if (function == nullptr || function(arguments..., &number) != NVML_SUCCESS) return {};
  return number;
}

std::optional<double> scaled(std::optional<unsigned> number, double factor) {
  return number ? std::optional(*number * factor) : std::nullopt;
}

std::vector<std::string> words_of(std::uint64_t bits) {
  std::vector<std::string> reasons;
  for (const ClocksEventReason& reason : clocks_event_reasons) {
    if ((bits & reason.bit) != 0) reasons.emplace_back(reason.text);
  }
  return reasons;
}

class NvmlSensors final : public Sensors {
 public:
  NvmlSensors(const Nvml& nvml, std::string source) : nvml_(nvml), source_(std::move(source)) {}
  ~NvmlSensors() override { nvml_.nvmlShutdown(); }

  const std::string& source() const noexcept override { return source_; }

  SensorReading read_load(std::string_view pci_bus_id) override {
    SensorReading reading;
    if (const auto device = device_at(pci_bus_id)) read_clocks(*device, reading);
    return reading;
  }

  SensorReading read(std::string_view pci_bus_id) override {
    SensorReading reading;
    const auto found = device_at(pci_bus_id);
    if (!found) return reading;
    const nvmlDevice_t device = *found;
    read_clocks(device, reading);
    read_state(device, reading);
    read_health(device, reading);
    read_links(device, reading);
    read_use(device, reading);
    reading.processes = processes(device);
    return reading;
  }

 private:
  std::optional<nvmlDevice_t> device_at(std::string_view pci_bus_id) const {
    nvmlDevice_t device = nullptr;
    const std::string bus_id(pci_bus_id);
    const auto result = nvml_.nvmlDeviceGetHandleByPciBusId_v2(bus_id.c_str(), &device);
    return result == NVML_SUCCESS ? std::optional(device) : std::nullopt;
  }

  void read_clocks(nvmlDevice_t device, SensorReading& reading) const {
    reading.clock_hz =
        scaled(ask<unsigned>(nvml_.nvmlDeviceGetClockInfo, device, NVML_CLOCK_SM), 1e6);
    reading.memory_clock_hz =
        scaled(ask<unsigned>(nvml_.nvmlDeviceGetClockInfo, device, NVML_CLOCK_MEM), 1e6);
    reading.temperature_c =
        scaled(ask<unsigned>(nvml_.nvmlDeviceGetTemperature, device, NVML_TEMPERATURE_GPU), 1);
    if (const auto memory = field(device, 0, NVML_FI_DEV_MEMORY_TEMP)) {
      reading.memory_temperature_c = static_cast<double>(*memory);
      reading.memory_temperature_limit_c =
          scaled(ask<unsigned>(nvml_.nvmlDeviceGetTemperatureThreshold, device,
                               NVML_TEMPERATURE_THRESHOLD_MEM_MAX),
                 1);
    }
    reading.power_w = scaled(ask<unsigned>(nvml_.nvmlDeviceGetPowerUsage, device), 1e-3);
    auto bits = ask<unsigned long long>(nvml_.nvmlDeviceGetCurrentClocksEventReasons, device);
    if (!bits) {  // its name before r535
      bits = ask<unsigned long long>(nvml_.nvmlDeviceGetCurrentClocksThrottleReasons, device);
    }
    if (bits) reading.throttle_reasons = words_of(*bits);
  }

  void read_state(nvmlDevice_t device, SensorReading& reading) const {
    reading.power_limit_w =
        scaled(ask<unsigned>(nvml_.nvmlDeviceGetEnforcedPowerLimit, device), 1e-3);
    reading.default_power_limit_w =
        scaled(ask<unsigned>(nvml_.nvmlDeviceGetPowerManagementDefaultLimit, device), 1e-3);
    const auto persistence = ask<int>(nvml_.nvmlDeviceGetPersistenceMode, device);
    if (persistence) reading.persistence_enabled = *persistence != 0;
    unsigned pending = 0;
    unsigned current = 0;
    if (nvml_.nvmlDeviceGetMigMode != nullptr &&
        nvml_.nvmlDeviceGetMigMode(device, &current, &pending) == NVML_SUCCESS) {
      reading.partitioned = current != 0;
    }
  }

  void read_health(nvmlDevice_t device, SensorReading& reading) const {
    reading.corrected_errors =
        ask<unsigned long long>(nvml_.nvmlDeviceGetTotalEccErrors, device,
                                NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC);
    reading.uncorrected_errors =
        ask<unsigned long long>(nvml_.nvmlDeviceGetTotalEccErrors, device,
                                NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC);
    unsigned corrected = 0;
    unsigned uncorrected = 0;
    unsigned pending = 0;
    unsigned failed = 0;
    if (nvml_.nvmlDeviceGetRemappedRows != nullptr &&
        nvml_.nvmlDeviceGetRemappedRows(device, &corrected, &uncorrected, &pending, &failed) ==
            NVML_SUCCESS) {
      reading.repairs = std::uint64_t{corrected} + uncorrected;
      reading.repair_pending = pending != 0;
      reading.repair_failed = failed != 0;
    }
  }

  void read_use(nvmlDevice_t device, SensorReading& reading) const {
    if (const auto rates = ask<nvmlUtilization_t>(nvml_.nvmlDeviceGetUtilizationRates, device)) {
      reading.busy_share = rates->gpu / 100.0;
    }
    // The whole board has more memory than an instance, which is the device here.
    if (reading.partitioned.value_or(false)) return;
    nvmlMemory_v2_t newer{};
    newer.version = nvmlMemory_v2;
    if (nvml_.nvmlDeviceGetMemoryInfo_v2 != nullptr &&
        nvml_.nvmlDeviceGetMemoryInfo_v2(device, &newer) == NVML_SUCCESS) {
      reading.memory_used_bytes = newer.used;
    } else if (const auto memory = ask<nvmlMemory_t>(nvml_.nvmlDeviceGetMemoryInfo, device)) {
      reading.memory_used_bytes = memory->used;
    }
  }

  void read_links(nvmlDevice_t device, SensorReading& reading) const {
    reading.pcie_generation = ask<unsigned>(nvml_.nvmlDeviceGetCurrPcieLinkGeneration, device);
    reading.pcie_width = ask<unsigned>(nvml_.nvmlDeviceGetCurrPcieLinkWidth, device);
    reading.pcie_replays = ask<unsigned>(nvml_.nvmlDeviceGetPcieReplayCounter, device);
    const auto window = ask<nvmlBAR1Memory_t>(nvml_.nvmlDeviceGetBAR1MemoryInfo, device);
    if (window) reading.host_visible_bytes = window->bar1Total;
    for (unsigned link = 0; link < NVML_NVLINK_MAX_LINKS; ++link) {
      const auto state = ask<int>(nvml_.nvmlDeviceGetNvLinkState, device, link);
      if (!state) break;  // no such link, or none at all
      reading.links_up = reading.links_up.value_or(0) + (*state != 0 ? 1 : 0);
      if (*state != 0) read_remote(device, link, reading);
      read_link_errors(device, link, reading);
    }
  }

  static void add(const std::optional<std::uint64_t>& count, std::optional<std::uint64_t>& sum) {
    if (count) sum = sum.value_or(0) + *count;
  }

  void read_link_errors(nvmlDevice_t device, unsigned link, SensorReading& reading) const {
    const auto counter = [&](int kind) -> std::optional<std::uint64_t> {
      return ask<unsigned long long>(nvml_.nvmlDeviceGetNvLinkErrorCounter, device, link, kind);
    };
    add(counter(NVML_NVLINK_ERROR_DL_REPLAY), reading.link_errors);
    add(counter(NVML_NVLINK_ERROR_DL_RECOVERY), reading.link_errors);
    // NVML_NVLINK_ERROR_DL_CRC_DATA grows on good NVLink 4, which corrects such errors by design.
    add(counter(NVML_NVLINK_ERROR_DL_CRC_FLIT), reading.link_corrected_errors);
    if (reading.link_errors) return;
    add(field(device, link, NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS), reading.link_errors);
    add(field(device, link, NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS), reading.link_corrected_errors);
  }

  /// A field of the device, or a counter of a link, by its number.
  std::optional<std::uint64_t> field(nvmlDevice_t device, unsigned link, unsigned id) const {
    nvmlFieldValue_t value{};
    value.fieldId = id;
    value.scopeId = link;
    if (nvml_.nvmlDeviceGetFieldValues == nullptr ||
        nvml_.nvmlDeviceGetFieldValues(device, 1, &value) != NVML_SUCCESS ||
        value.nvmlReturn != NVML_SUCCESS) {
      return {};
    }
    const bool is_short = value.valueType == NVML_VALUE_TYPE_UNSIGNED_INT;
    return is_short ? value.value.uiVal : value.value.ullVal;
  }

  void read_remote(nvmlDevice_t device, unsigned link, SensorReading& reading) const {
    const auto remote = ask<nvmlPciInfo_t>(nvml_.nvmlDeviceGetNvLinkRemotePciInfo_v2, device, link);
    if (!remote) return;
    const std::string_view text(remote->busId, strnlen(remote->busId, sizeof(remote->busId)));
    if (!reading.link_remotes) reading.link_remotes.emplace();
    reading.link_remotes->push_back(system::normalize_bus_id(text));
  }

  std::optional<std::vector<DeviceProcess>> processes(nvmlDevice_t device) const {
    const auto list = nvml_.nvmlDeviceGetComputeRunningProcesses_v3;
    if (list == nullptr) return {};
    unsigned count = 0;
    nvmlReturn_t result = list(device, &count, nullptr);
    std::vector<nvmlProcessInfo_t> found;
    // Processes may start between the two calls.
    for (int attempt = 0; result == NVML_ERROR_INSUFFICIENT_SIZE && attempt < 4; ++attempt) {
      count = 2 * count + 4;
      found.resize(count);
      result = list(device, &count, found.data());
    }
    if (result != NVML_SUCCESS) return {};
    std::vector<DeviceProcess> list_of_them;
    for (unsigned i = 0; i < count && i < found.size(); ++i) {
      DeviceProcess& process = list_of_them.emplace_back();
      process.id = found[i].pid;
      process.name = base::read_small_file("/proc/" + std::to_string(process.id) + "/comm");
      if (found[i].usedGpuMemory != NVML_VALUE_NOT_AVAILABLE) {
        process.memory_bytes = found[i].usedGpuMemory;
      }
    }
    return list_of_them;
  }

  Nvml nvml_;
  std::string source_;
};

}  // namespace

bool is_hardware_slowdown(std::string_view throttle_reason) noexcept {
  return std::ranges::any_of(clocks_event_reasons, [&](const ClocksEventReason& reason) {
    return reason.is_by_hardware && reason.text == throttle_reason;
  });
}

SensorLibrary open_sensors(const std::string& chosen) {
  const std::vector<std::string> names =
      chosen.empty() ? list_names_to_open(own_places(), sensors_name) : std::vector{chosen};
  std::optional<base::DynamicLibrary> library;
  std::string sentence;  // of the last one: a file, where there is one
  for (const std::string& name : names) {
    if (!library) library = base::DynamicLibrary::open(name, sentence);
  }
  if (!library) return {nullptr, "NVML cannot be loaded: " + sentence};
  Nvml nvml{};
  if (const char* missing = load(*library, nvml)) {
    return {nullptr, library->path() + " lacks " + missing};
  }
  if (const nvmlReturn_t result = nvml.nvmlInit_v2(); result != NVML_SUCCESS) {
    const char* text = nvml.nvmlErrorString(result);
    return {nullptr,
            "NVML does not start: " + std::string(text != nullptr ? text : std::to_string(result))};
  }
  std::string source = library->path();
  char version[96] = {};
  if (nvml.nvmlSystemGetDriverVersion != nullptr &&
      nvml.nvmlSystemGetDriverVersion(version, sizeof(version) - 1) == NVML_SUCCESS) {
    source += ", driver " + std::string(version);
  }
  return {std::make_unique<NvmlSensors>(nvml, std::move(source)), {}};
}

}  // namespace hiptool::hip::nvidia
