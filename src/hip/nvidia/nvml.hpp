// SPDX-License-Identifier: MIT
/// The part of NVML that is used, declared after NVIDIA's NVML API reference (r580).
#pragma once
#include <cstdint>
#include "hip/call_table.hpp"

namespace hiptool::hip::nvidia {

using nvmlReturn_t = int;
using nvmlDevice_t = struct nvmlDevice_st*;

inline constexpr nvmlReturn_t NVML_SUCCESS = 0;
inline constexpr nvmlReturn_t NVML_ERROR_INSUFFICIENT_SIZE = 7;

inline constexpr int NVML_CLOCK_SM = 1;
inline constexpr int NVML_CLOCK_MEM = 2;
inline constexpr int NVML_TEMPERATURE_GPU = 0;
inline constexpr int NVML_TEMPERATURE_THRESHOLD_MEM_MAX = 2;
inline constexpr unsigned NVML_FI_DEV_MEMORY_TEMP = 82;
inline constexpr int NVML_MEMORY_ERROR_TYPE_CORRECTED = 0;
inline constexpr int NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1;
inline constexpr int NVML_VOLATILE_ECC = 0;
inline constexpr unsigned NVML_NVLINK_MAX_LINKS = 36;  // of the newest board so far
inline constexpr int NVML_NVLINK_ERROR_DL_REPLAY = 0;
inline constexpr int NVML_NVLINK_ERROR_DL_RECOVERY = 1;
inline constexpr int NVML_NVLINK_ERROR_DL_CRC_FLIT = 2;
inline constexpr int NVML_NVLINK_ERROR_DL_CRC_DATA = 3;
// Of NVLink 5, whose links answer none of the four.
inline constexpr unsigned NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS = 208;
inline constexpr unsigned NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS = 215;
inline constexpr int NVML_VALUE_TYPE_UNSIGNED_INT = 1;

struct nvmlBAR1Memory_t {
  unsigned long long bar1Total;
  unsigned long long bar1Free;
  unsigned long long bar1Used;
};

struct nvmlMemory_t {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct nvmlMemory_v2_t {
  unsigned version;
  unsigned long long total;
  unsigned long long reserved;
  unsigned long long free;
  unsigned long long used;  // without what the driver and the firmware reserve
};
inline constexpr unsigned nvmlMemory_v2 = sizeof(nvmlMemory_v2_t) | 2u << 24;

struct nvmlUtilization_t {
  unsigned gpu;  // percent of the last sample period in which a kernel ran
  unsigned memory;
};

struct nvmlFieldValue_t {
  unsigned fieldId;
  unsigned scopeId;  // of NVLink fields the link
  long long timestamp;
  long long latencyUsec;
  int valueType;
  nvmlReturn_t nvmlReturn;
  union {
    double dVal;
    unsigned uiVal;
    unsigned long long ullVal;
  } value;
};
static_assert(sizeof(nvmlFieldValue_t) == 40);

inline constexpr unsigned long long NVML_VALUE_NOT_AVAILABLE = ~0ULL;
struct nvmlProcessInfo_t {  // of nvmlDeviceGetComputeRunningProcesses_v3
  unsigned pid;
  unsigned long long usedGpuMemory;
  unsigned gpuInstanceId;
  unsigned computeInstanceId;
};
static_assert(sizeof(nvmlProcessInfo_t) == 24);

struct nvmlPciInfo_t {
  char busIdLegacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pciDeviceId;
  unsigned pciSubSystemId;
  char busId[32];
};
static_assert(sizeof(nvmlPciInfo_t) == 68);

#define HIPTOOL_NVML_CALLS(CALL)                                                                \
  CALL(required, nvmlReturn_t, nvmlInit_v2, ())                                                 \
  CALL(required, nvmlReturn_t, nvmlShutdown, ())                                                \
  CALL(required, const char*, nvmlErrorString, (nvmlReturn_t))                                  \
  CALL(required, nvmlReturn_t, nvmlDeviceGetHandleByPciBusId_v2,                                \
       (const char* bus_id, nvmlDevice_t* device))                                              \
  CALL(optional, nvmlReturn_t, nvmlSystemGetDriverVersion, (char* version, unsigned length))    \
  CALL(optional, nvmlReturn_t, nvmlDeviceGetClockInfo,                                          \
       (nvmlDevice_t, int type, unsigned* megahertz))                                           \
  CALL(optional, nvmlReturn_t, nvmlDeviceGetTemperature,                                        \
       (nvmlDevice_t, int sensor, unsigned* celsius))                                           \
  CALL(optional, nvmlReturn_t, nvmlDeviceGetTemperatureThreshold,                               \
       (nvmlDevice_t, int threshold, unsigned* celsius))                                        \
  CALL(optional, nvmlReturn_t, nvmlDeviceGetPowerUsage, (nvmlDevice_t, unsigned* milliwatts))   \
  CALL(optional, nvmlReturn_t, nvmlDeviceGetEnforcedPowerLimit,                                 \
       (nvmlDevice_t, unsigned* milliwatts))                                                    \
  CALL(optional, nvmlReturn_t, nvmlDeviceGetPowerManagementDefaultLimit,                        \
       (nvmlDevice_t, unsigned* milliwatts))                                                    \
  CALL(optional, nvmlReturn_t, nvmlDeviceGetCurrentClocksEventReasons,                          \
       (nvmlDevice_t, unsigned long long* bits))                                                \
  CALL(optional, nvmlReturn_t, nvmlDeviceGetCurrentClocksThrottleReasons,                       \
       (nvmlDevice_t, unsigned long long* bits))                                                \
  CALL(optional, nvmlReturn_t, nvmlDeviceGetTotalEccErrors,                                     \
       (nvmlDevice_t, int type, int counter, unsigned long long* count))                        \
  CALL(optional, nvmlReturn_t, nvmlDeviceGetRemappedRows,                                       \
       (nvmlDevice_t, unsigned* corrected, unsigned* uncorrected, unsigned* pending,            \
        unsigned* failed))                                                                      \
  CALL(optional, nvmlReturn_t, nvmlDeviceGetCurrPcieLinkGeneration,                             \
       (nvmlDevice_t, unsigned* generation))                                                    \
  CALL(optional, nvmlReturn_t, nvmlDeviceGetCurrPcieLinkWidth, (nvmlDevice_t, unsigned* width)) \
  CALL(optional, nvmlReturn_t, nvmlDeviceGetPcieReplayCounter, (nvmlDevice_t, unsigned* count)) \
  CALL(optional, nvmlReturn_t, nvmlDeviceGetBAR1MemoryInfo,                                     \
       (nvmlDevice_t, nvmlBAR1Memory_t * memory))                                               \
  CALL(optional, nvmlReturn_t, nvmlDeviceGetMemoryInfo, (nvmlDevice_t, nvmlMemory_t * memory))  \
  CALL(optional, nvmlReturn_t, nvmlDeviceGetMemoryInfo_v2,                                      \
       (nvmlDevice_t, nvmlMemory_v2_t * memory))                                                \
  CALL(optional, nvmlReturn_t, nvmlDeviceGetUtilizationRates,                                   \
       (nvmlDevice_t, nvmlUtilization_t * rates))                                               \
  CALL(optional, nvmlReturn_t, nvmlDeviceGetPersistenceMode, (nvmlDevice_t, int* enabled))      \
  CALL(optional, nvmlReturn_t, nvmlDeviceGetMigMode,                                            \
       (nvmlDevice_t, unsigned* current, unsigned* pending))                                    \
  CALL(optional, nvmlReturn_t, nvmlDeviceGetNvLinkState,                                        \
       (nvmlDevice_t, unsigned link, int* enabled))                                             \
  CALL(optional, nvmlReturn_t, nvmlDeviceGetNvLinkErrorCounter,                                 \
       (nvmlDevice_t, unsigned link, int counter, unsigned long long* count))                   \
  CALL(optional, nvmlReturn_t, nvmlDeviceGetFieldValues,                                        \
       (nvmlDevice_t, int count, nvmlFieldValue_t* values))                                     \
  CALL(optional, nvmlReturn_t, nvmlDeviceGetNvLinkRemotePciInfo_v2,                             \
       (nvmlDevice_t, unsigned link, nvmlPciInfo_t* remote))                                    \
  CALL(optional, nvmlReturn_t, nvmlDeviceGetComputeRunningProcesses_v3,                         \
       (nvmlDevice_t, unsigned* count, nvmlProcessInfo_t* processes))
/// Any call may be missing (null) in an older library, except the first four.
HIPTOOL_CALL_TABLE(Nvml, HIPTOOL_NVML_CALLS);

/// A bit of nvmlClocksEventReasons and what it means; idle (1) and clocks that the user chose (2)
/// are left out, as they are harmless.
struct ClocksEventReason {
  std::uint64_t bit;
  const char* text;
  bool is_by_hardware = false;  ///< against heat, or a power supply that fails
};
inline constexpr ClocksEventReason clocks_event_reasons[] = {
    {0x4, "power cap"},
    {0x8, "hardware slowdown", true},
    {0x10, "sync boost"},
    {0x20, "thermal slowdown by software"},
    {0x40, "thermal slowdown by hardware", true},
    {0x80, "power brake", true},
    {0x100, "display clock setting"},
    {0x200, "board limit"},
    {0x400, "reliability"},
};

}  // namespace hiptool::hip::nvidia
