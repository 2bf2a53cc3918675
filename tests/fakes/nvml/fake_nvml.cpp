// SPDX-License-Identifier: MIT
/// A fake libnvidia-ml.so.1 with one device, "0000:65:00.0", or those of FAKE_NVML_BUS_IDS, which
/// are all the same. FAKE_NVML_INIT is the answer of its start, FAKE_NVML_REASONS the bits of why
/// clocks are held down, of the device FAKE_NVML_REASONS_AT alone if that is set; FAKE_NVML_BARE
/// lets all optional questions answer "not supported", FAKE_NVML_OLD those of newer drivers;
/// FAKE_NVML_MIG turns MIG on; FAKE_NVML_COUNTERS is a file with lines "BUS_ID NAME COUNT"
/// (corrected, uncorrected, remapped, replays, nvlink, crc) that are added to the counters,
/// FAKE_NVML_NVLINK5 lets links have counters by number alone; readings last as long as the file
/// FAKE_NVML_HANG exists, the start as long as FAKE_NVML_HANG_INIT, and then make one of that name
/// with ".reached" after it; clocks are answered after FAKE_NVML_SLOW_MS; FAKE_NVML_MEMORY_C is the
/// temperature of the memory, whose limit is 95.
#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "hip/nvidia/nvml.hpp"

using namespace hiptool::hip::nvidia;  // the vendor's names, which this file is all about

struct hiptool::hip::nvidia::nvmlDevice_st {
  unsigned index = 0;
};

namespace {

constexpr nvmlReturn_t not_supported = 3;
constexpr nvmlReturn_t not_found = 6;
constexpr unsigned most_process_id = 1u << 22;  // PID_MAX_LIMIT of linux/threads.h
constexpr unsigned most_devices = 16;
nvmlDevice_st devices[most_devices];  // by their place in the list of bus ids
int starts = 0;

template <class Number>
nvmlReturn_t answer(Number* out, unsigned long long value) {
  if (std::getenv("FAKE_NVML_BARE") != nullptr) return not_supported;
  *out = static_cast<Number>(value);
  return NVML_SUCCESS;
}

const char* bus_ids() {
  const char* ids = std::getenv("FAKE_NVML_BUS_IDS");
  return ids != nullptr ? ids : "0000:65:00.0";
}

std::string bus_id_of(nvmlDevice_t device) {
  constexpr std::size_t id_letters = 12;
  return std::string(bus_ids()).substr(device->index * (id_letters + 1), id_letters);
}

/// What the file of counters adds to one of a device.
unsigned long long added(nvmlDevice_t device, const char* counter) {
  const char* file = std::getenv("FAKE_NVML_COUNTERS");
  std::ifstream lines(file != nullptr ? file : "");
  std::string bus_id;
  std::string name;
  unsigned long long count = 0;
  unsigned long long sum = 0;
  while (lines >> bus_id >> name >> count) {
    if (bus_id == bus_id_of(device) && name == counter) sum += count;
  }
  return sum;
}

/// As long as the file that the variable names exists.
void hang_by(const char* variable) {
  const char* const file = std::getenv(variable);
  if (file == nullptr) return;
  const int changes = inotify_init1(IN_CLOEXEC);
  // Of a file that is removed while others have it open only the number of links changes.
  const int watch = inotify_add_watch(changes, file, IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF);
  if (watch >= 0) {
    close(creat((std::string(file) + ".reached").c_str(), 0600));
    char change[sizeof(inotify_event) + NAME_MAX + 1];
    while (access(file, F_OK) == 0) {
      if (read(changes, change, sizeof change) < 0 && errno != EINTR) std::abort();
    }
  }
  close(changes);
}

pid_t parent_or_self() { return std::getenv("FAKE_NVML_SELF") != nullptr ? getpid() : getppid(); }

}  // namespace

extern "C" {

int fake_nvml_starts() { return starts; }

nvmlReturn_t nvmlInit_v2() {
  hang_by("FAKE_NVML_HANG_INIT");
  const char* result = std::getenv("FAKE_NVML_INIT");
  if (result != nullptr) return std::atoi(result);
  ++starts;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlShutdown() {
  --starts;
  return NVML_SUCCESS;
}
const char* nvmlErrorString(nvmlReturn_t result) {
  return result == 9 ? "Driver Not Loaded" : nullptr;
}
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, nvmlDevice_t* device) {
  const char* const found = std::strstr(bus_ids(), bus_id);
  if (found == nullptr || *bus_id == '\0') return not_found;
  const auto place = static_cast<unsigned>((found - bus_ids()) / 13) % most_devices;
  devices[place].index = place;
  *device = &devices[place];
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned length) {
  std::strncpy(version, "580.159.04", length);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t, int type, unsigned* megahertz) {
  hang_by("FAKE_NVML_HANG");
  if (const char* const slow_ms = std::getenv("FAKE_NVML_SLOW_MS")) {
    usleep(static_cast<useconds_t>(std::atoi(slow_ms)) * 1000);
  }
  return answer(megahertz, type == NVML_CLOCK_SM ? 1980 : 3201);
}
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t, int, unsigned* celsius) {
  return answer(celsius, 41);
}
nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t, int threshold, unsigned* celsius) {
  if (threshold != NVML_TEMPERATURE_THRESHOLD_MEM_MAX) return not_supported;
  return answer(celsius, 95);
}
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t, unsigned* milliwatts) {
  return answer(milliwatts, 75500);
}
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t, unsigned* milliwatts) {
  return answer(milliwatts, 600000);
}
nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t, unsigned* milliwatts) {
  return answer(milliwatts, 700000);
}
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device,
                                                       unsigned long long* bits) {
  const char* chosen = std::getenv("FAKE_NVML_REASONS_AT");
  const bool is_free = chosen != nullptr && bus_id_of(device) != chosen;
  const char* value = is_free ? nullptr : std::getenv("FAKE_NVML_REASONS");
  return answer(bits, value == nullptr ? 1 : std::strtoull(value, nullptr, 0));
}
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, int type, int,
                                         unsigned long long* count) {
  const bool is_corrected = type == NVML_MEMORY_ERROR_TYPE_CORRECTED;
  return answer(count,
                is_corrected ? 12 + added(device, "corrected") : added(device, "uncorrected"));
}
nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned* corrected,
                                       unsigned* uncorrected, unsigned* pending, unsigned* failed) {
  *corrected = *failed = 0;
  *uncorrected = static_cast<unsigned>(added(device, "remapped"));
  return answer(pending, 1);
}
nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t, unsigned* generation) {
  return answer(generation, 5);
}
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t, unsigned* width) {
  return answer(width, 16);
}
nvmlReturn_t nvmlDeviceGetPcieReplayCounter(nvmlDevice_t device, unsigned* count) {
  return answer(count, 7 + added(device, "replays"));
}
nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t, nvmlBAR1Memory_t* memory) {
  return answer(&memory->bar1Total, 256ULL << 30);
}
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t, nvmlMemory_t* memory) {
  memory->total = 140ULL << 30;
  return answer(&memory->used, 3ULL << 30);
}
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t, nvmlMemory_v2_t* memory) {
  if (memory->version != nvmlMemory_v2 || std::getenv("FAKE_NVML_OLD") != nullptr) {
    return not_supported;
  }
  memory->reserved = 1ULL << 30;
  return answer(&memory->used, 2ULL << 30);
}
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t, nvmlUtilization_t* rates) {
  return answer(&rates->gpu, 37);
}
nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t, int* enabled) { return answer(enabled, 1); }
nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t, unsigned* current, unsigned* pending) {
  *pending = 1;
  return answer(current, std::getenv("FAKE_NVML_MIG") != nullptr ? 1 : 0);
}
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t, unsigned link, int* enabled) {
  return link < 4 ? answer(enabled, link != 2 ? 1 : 0) : not_supported;
}
/// The counters of the file are those of link 0. Of NVLink 4 the count of data grows on a good
/// machine that is idle, some in a second: the links correct these errors themselves.
nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t device, unsigned link, int counter,
                                             unsigned long long* count) {
  if (std::getenv("FAKE_NVML_NVLINK5") != nullptr) return not_supported;
  static std::atomic<unsigned long long> corrected{2183};
  if (counter == NVML_NVLINK_ERROR_DL_CRC_DATA) return answer(count, ++corrected);
  const char* const name = counter == NVML_NVLINK_ERROR_DL_RECOVERY   ? "nvlink"
                           : counter == NVML_NVLINK_ERROR_DL_CRC_FLIT ? "crc"
                                                                      : "";
  return answer(count, link == 0 ? added(device, name) : 0);
}
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t* values) {
  for (int i = 0; i < count; ++i) {
    nvmlFieldValue_t& one = values[i];
    if (one.fieldId == NVML_FI_DEV_MEMORY_TEMP) {
      const char* const celsius = std::getenv("FAKE_NVML_MEMORY_C");
      one.valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
      one.nvmlReturn = celsius == nullptr ? not_supported : NVML_SUCCESS;
      if (celsius != nullptr) one.value.uiVal = static_cast<unsigned>(std::atoi(celsius));
      continue;
    }
    const char* const name =
        one.fieldId == NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS ? "nvlink" : "crc";
    one.valueType = 3;  // unsigned long long
    one.nvmlReturn = answer(&one.value.ullVal, one.scopeId == 0 ? added(device, name) : 0);
  }
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t, unsigned link,
                                                 nvmlPciInfo_t* remote) {
  if (link == 3) return not_supported;
  std::snprintf(remote->busId, sizeof(remote->busId), "00000000:%02X:00.0", 0xa0 + link);
  return std::getenv("FAKE_NVML_BARE") != nullptr ? not_supported : NVML_SUCCESS;
}
/// First the parent of this process, with FAKE_NVML_SELF this process, then processes that do not
/// exist. More processes at each call than at the one before.
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t, unsigned* count,
                                                     nvmlProcessInfo_t* processes) {
  if (std::getenv("FAKE_NVML_BARE") != nullptr) return not_supported;
  static unsigned running = 0;
  const unsigned space = processes != nullptr ? *count : 0;
  *count = ++running;
  if (space < running) return NVML_ERROR_INSUFFICIENT_SIZE;
  for (unsigned i = 0; i < running; ++i) {
    const bool is_first = i == 0;
    processes[i] = {is_first ? static_cast<unsigned>(parent_or_self()) : most_process_id + i,
                    is_first ? 1ULL << 30 : NVML_VALUE_NOT_AVAILABLE, 0, 0};
  }
  return NVML_SUCCESS;
}

}  // extern "C"
