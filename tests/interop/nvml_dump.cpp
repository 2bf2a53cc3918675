// SPDX-License-Identifier: MIT
/// Our declarations of NVML as JSON, for nvml_reference.py.
#include <cstddef>
#include <cstdio>

#include "hip/nvidia/nvml.hpp"

using namespace hiptool::hip::nvidia;  // the vendor's names, which this file is all about

int main() {
  std::printf("{\"NVML_ERROR_INSUFFICIENT_SIZE\": %d, \"NVML_CLOCK_SM\": %d, ",
              NVML_ERROR_INSUFFICIENT_SIZE, NVML_CLOCK_SM);
  std::printf("\"NVML_CLOCK_MEM\": %d, \"NVML_TEMPERATURE_GPU\": %d, ", NVML_CLOCK_MEM,
              NVML_TEMPERATURE_GPU);
  std::printf("\"NVML_MEMORY_ERROR_TYPE_CORRECTED\": %d, ", NVML_MEMORY_ERROR_TYPE_CORRECTED);
  std::printf("\"NVML_MEMORY_ERROR_TYPE_UNCORRECTED\": %d, ", NVML_MEMORY_ERROR_TYPE_UNCORRECTED);
  std::printf("\"NVML_VOLATILE_ECC\": %d, ", NVML_VOLATILE_ECC);
  std::printf("\"NVML_NVLINK_ERROR_DL_REPLAY\": %d, \"NVML_NVLINK_ERROR_DL_RECOVERY\": %d, ",
              NVML_NVLINK_ERROR_DL_REPLAY, NVML_NVLINK_ERROR_DL_RECOVERY);
  std::printf("\"NVML_NVLINK_ERROR_DL_CRC_FLIT\": %d, \"NVML_NVLINK_ERROR_DL_CRC_DATA\": %d, ",
              NVML_NVLINK_ERROR_DL_CRC_FLIT, NVML_NVLINK_ERROR_DL_CRC_DATA);
  std::printf("\"NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS\": %u, ", NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS);
  std::printf("\"NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS\": %u, ",
              NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS);
  std::printf("\"NVML_VALUE_TYPE_UNSIGNED_INT\": %d, ", NVML_VALUE_TYPE_UNSIGNED_INT);
  std::printf("\"sizeof field\": %zu, \"offset scope\": %zu, \"offset value type\": %zu, ",
              sizeof(nvmlFieldValue_t), offsetof(nvmlFieldValue_t, scopeId),
              offsetof(nvmlFieldValue_t, valueType));
  std::printf("\"offset field return\": %zu, \"offset value\": %zu, ",
              offsetof(nvmlFieldValue_t, nvmlReturn), offsetof(nvmlFieldValue_t, value));
  std::printf("\"sizeof bar1\": %zu, \"sizeof process\": %zu, ", sizeof(nvmlBAR1Memory_t),
              sizeof(nvmlProcessInfo_t));
  std::printf("\"sizeof memory\": %zu, \"sizeof memory 2\": %zu, \"nvmlMemory_v2\": %u, ",
              sizeof(nvmlMemory_t), sizeof(nvmlMemory_v2_t), nvmlMemory_v2);
  std::printf("\"offset used\": %zu, \"offset used 2\": %zu, \"sizeof utilization\": %zu, ",
              offsetof(nvmlMemory_t, used), offsetof(nvmlMemory_v2_t, used),
              sizeof(nvmlUtilization_t));
  std::printf("\"sizeof pci\": %zu, \"offset busId\": %zu, ", sizeof(nvmlPciInfo_t),
              offsetof(nvmlPciInfo_t, busId));
  std::printf("\"reasons\": {");
  const char* separator = "";
  for (const ClocksEventReason& reason : clocks_event_reasons) {
    std::printf("%s\"%s\": %llu", separator, reason.text,
                static_cast<unsigned long long>(reason.bit));
    separator = ", ";
  }
  std::printf("}}\n");
  return 0;
}
