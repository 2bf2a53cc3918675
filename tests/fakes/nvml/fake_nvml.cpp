// SPDX-License-Identifier: MIT
/// A fake libnvidia-ml.so.1 with one device, "0000:65:00.0", or those of FAKE_NVML_BUS_IDS, which
/// are all the same. FAKE_NVML_INIT is the answer
/// of its start, FAKE_NVML_REASONS the bits of why clocks are held down, of the
/// device FAKE_NVML_REASONS_AT alone if that is set; FAKE_NVML_BARE lets all
/// optional questions answer "not supported", FAKE_NVML_OLD those of newer drivers; FAKE_NVML_MIG
/// turns MIG on; readings last as long as the file FAKE_NVML_HANG exists, and then make
/// one of that name with ".reached" after it.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "hip/nvidia/nvml.hpp"

using namespace hiptool::hip::nvidia;  // the vendor's names, which this file is all about

struct hiptool::hip::nvidia::nvmlDevice_st {
  int index;
};

namespace {

constexpr nvmlReturn_t not_supported = 3;
constexpr nvmlReturn_t not_found = 6;
constexpr unsigned most_process_id = 1u << 22;  // PID_MAX_LIMIT of linux/threads.h
nvmlDevice_st the_device{0};
nvmlDevice_st free_device{1};  // whose clocks are not held down
int starts = 0;

template <class Number>
nvmlReturn_t answer(Number* out, unsigned long long value) {
  if (std::getenv("FAKE_NVML_BARE") != nullptr) return not_supported;
  *out = static_cast<Number>(value);
  return NVML_SUCCESS;
}

pid_t parent_or_self() { return std::getenv("FAKE_NVML_SELF") != nullptr ? getpid() : getppid(); }

}  // namespace

extern "C" {

int fake_nvml_starts() { return starts; }

nvmlReturn_t nvmlInit_v2() {
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
  const char* chosen = std::getenv("FAKE_NVML_REASONS_AT");
  const bool is_free = chosen != nullptr && std::strcmp(chosen, bus_id) != 0;
  *device = is_free ? &free_device : &the_device;
  const char* ids = std::getenv("FAKE_NVML_BUS_IDS");
  return std::strstr(ids != nullptr ? ids : "0000:65:00.0", bus_id) != nullptr && *bus_id != '\0'
             ? NVML_SUCCESS
             : not_found;
}
nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned length) {
  std::strncpy(version, "580.159.04", length);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t, int type, unsigned* megahertz) {
  // A driver that hangs.
  const char* hang = std::getenv("FAKE_NVML_HANG");
  if (hang != nullptr && access(hang, F_OK) == 0) {
    close(creat((std::string(hang) + ".reached").c_str(), 0600));
  }
  while (hang != nullptr && access(hang, F_OK) == 0) usleep(1000);
  return answer(megahertz, type == NVML_CLOCK_SM ? 1980 : 3201);
}
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t, int, unsigned* celsius) {
  return answer(celsius, 41);
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
  const char* value = device == &the_device ? std::getenv("FAKE_NVML_REASONS") : nullptr;
  return answer(bits, value == nullptr ? 1 : std::strtoull(value, nullptr, 0));
}
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t, int type, int, unsigned long long* count) {
  return answer(count, type == NVML_MEMORY_ERROR_TYPE_CORRECTED ? 12 : 0);
}
nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t, unsigned* corrected, unsigned* uncorrected,
                                       unsigned* pending, unsigned* failed) {
  *corrected = *uncorrected = *failed = 0;
  return answer(pending, 1);
}
nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t, unsigned* generation) {
  return answer(generation, 5);
}
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t, unsigned* width) {
  return answer(width, 16);
}
nvmlReturn_t nvmlDeviceGetPcieReplayCounter(nvmlDevice_t, unsigned* count) {
  return answer(count, 7);
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
