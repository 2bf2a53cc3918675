// SPDX-License-Identifier: MIT
/// The HIP table: HIP's calls as function pointers, with HIP's names and signatures. The contract
/// is HIP's semantics as of ROCm 7 (HIP API reference). Every pointer of a bound table can be
/// called: an optional call that the platform lacks returns hipErrorNotSupported.
#pragma once
#include <string_view>
#include <type_traits>

#include "hip/abi.hpp"
#include "hip/call_table.hpp"

namespace hiptool::hip {

#define HIPTOOL_HIP_CALLS(CALL)                                                                    \
  CALL(required, hipError_t, hipInit, (unsigned flags))                                            \
  CALL(required, hipError_t, hipRuntimeGetVersion, (int* version))                                 \
  CALL(required, hipError_t, hipDriverGetVersion, (int* version))                                  \
  CALL(required, const char*, hipGetErrorName, (hipError_t error))                                 \
  CALL(required, const char*, hipGetErrorString, (hipError_t error))                               \
  CALL(required, hipError_t, hipGetDeviceCount, (int* count))                                      \
  CALL(required, hipError_t, hipGetDevice, (int* ordinal))                                         \
  CALL(required, hipError_t, hipSetDevice, (int ordinal))                                          \
  CALL(required, hipError_t, hipDeviceSynchronize, ())                                             \
  CALL(required, hipError_t, hipDeviceGetName, (char* name, int length, hipDevice_t device))       \
  CALL(optional, hipError_t, hipDeviceGetUuid, (hipUUID * uuid, hipDevice_t device))               \
  CALL(required, hipError_t, hipDeviceTotalMem, (std::size_t * bytes, hipDevice_t device))         \
  CALL(required, hipError_t, hipDeviceGetAttribute,                                                \
       (int* value, hipDeviceAttribute_t attribute, int ordinal))                                  \
  CALL(optional, hipError_t, hipDeviceGetPCIBusId, (char* id, int length, int ordinal))            \
  CALL(optional, hipError_t, hipGetDevicePropertiesR0000, (void* properties, int ordinal))         \
  CALL(optional, hipError_t, hipGetDevicePropertiesR0600, (void* properties, int ordinal))         \
  CALL(optional, hipError_t, hipDeviceCanAccessPeer, (int* can_access, int ordinal, int peer))     \
  CALL(optional, hipError_t, hipDeviceEnablePeerAccess, (int peer, unsigned flags))                \
  CALL(optional, hipError_t, hipDeviceDisablePeerAccess, (int peer))                               \
  CALL(required, hipError_t, hipMemGetInfo, (std::size_t * free_bytes, std::size_t * total_bytes)) \
  CALL(required, hipError_t, hipMalloc, (void** pointer, std::size_t bytes))                       \
  CALL(required, hipError_t, hipFree, (void* pointer))                                             \
  CALL(optional, hipError_t, hipExtMallocWithFlags,                                                \
       (void** pointer, std::size_t bytes, unsigned flags))                                        \
  CALL(optional, hipError_t, hipMallocManaged,                                                     \
       (void** pointer, std::size_t bytes, unsigned flags))                                        \
  CALL(required, hipError_t, hipHostMalloc, (void** pointer, std::size_t bytes, unsigned flags))   \
  CALL(required, hipError_t, hipHostFree, (void* pointer))                                         \
  CALL(required, hipError_t, hipHostRegister, (void* pointer, std::size_t bytes, unsigned flags))  \
  CALL(required, hipError_t, hipHostUnregister, (void* pointer))                                   \
  CALL(optional, hipError_t, hipHostGetDevicePointer,                                              \
       (void** device_pointer, void* host_pointer, unsigned flags))                                \
  CALL(required, hipError_t, hipMemcpyAsync,                                                       \
       (void* destination, const void* source, std::size_t bytes, hipMemcpyKind kind,              \
        hipStream_t stream))                                                                       \
  CALL(optional, hipError_t, hipMemcpyPeerAsync,                                                   \
       (void* destination, int destination_ordinal, const void* source, int source_ordinal,        \
        std::size_t bytes, hipStream_t stream))                                                    \
  CALL(required, hipError_t, hipMemcpy2DAsync,                                                     \
       (void* destination, std::size_t destination_pitch, const void* source,                      \
        std::size_t source_pitch, std::size_t width, std::size_t height, hipMemcpyKind kind,       \
        hipStream_t stream))                                                                       \
  CALL(required, hipError_t, hipMemsetAsync,                                                       \
       (void* destination, int value, std::size_t bytes, hipStream_t stream))                      \
  CALL(required, hipError_t, hipStreamCreateWithFlags, (hipStream_t * stream, unsigned flags))     \
  CALL(required, hipError_t, hipStreamCreateWithPriority,                                          \
       (hipStream_t * stream, unsigned flags, int priority))                                       \
  CALL(required, hipError_t, hipDeviceGetStreamPriorityRange, (int* least, int* greatest))         \
  CALL(required, hipError_t, hipStreamDestroy, (hipStream_t stream))                               \
  CALL(required, hipError_t, hipStreamQuery, (hipStream_t stream))                                 \
  CALL(required, hipError_t, hipStreamSynchronize, (hipStream_t stream))                           \
  CALL(required, hipError_t, hipStreamWaitEvent,                                                   \
       (hipStream_t stream, hipEvent_t event, unsigned flags))                                     \
  CALL(optional, hipError_t, hipLaunchHostFunc,                                                    \
       (hipStream_t stream, hipHostFn_t function, void* user_data))                                \
  CALL(required, hipError_t, hipEventCreateWithFlags, (hipEvent_t * event, unsigned flags))        \
  CALL(required, hipError_t, hipEventDestroy, (hipEvent_t event))                                  \
  CALL(required, hipError_t, hipEventRecord, (hipEvent_t event, hipStream_t stream))               \
  CALL(required, hipError_t, hipEventQuery, (hipEvent_t event))                                    \
  CALL(required, hipError_t, hipEventSynchronize, (hipEvent_t event))                              \
  CALL(required, hipError_t, hipEventElapsedTime,                                                  \
       (float* milliseconds, hipEvent_t start, hipEvent_t stop))                                   \
  CALL(optional, hipError_t, hipModuleLoadData, (hipModule_t * module, const void* image))         \
  CALL(optional, hipError_t, hipModuleLoadDataEx,                                                  \
       (hipModule_t * module, const void* image, unsigned options, hipJitOption* option,           \
        void** option_value))                                                                      \
  CALL(optional, hipError_t, hipModuleUnload, (hipModule_t module))                                \
  CALL(optional, hipError_t, hipModuleGetFunction,                                                 \
       (hipFunction_t * function, hipModule_t module, const char* name))                           \
  CALL(optional, hipError_t, hipModuleLaunchKernel,                                                \
       (hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,                 \
        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,               \
        hipStream_t stream, void** arguments, void** extra))                                       \
  CALL(optional, hipError_t, hipFuncGetAttribute,                                                  \
       (int* value, hipFunction_attribute attribute, hipFunction_t function))                      \
  CALL(optional, hipError_t, hipStreamBeginCapture,                                                \
       (hipStream_t stream, hipStreamCaptureMode mode))                                            \
  CALL(optional, hipError_t, hipStreamEndCapture, (hipStream_t stream, hipGraph_t * graph))        \
  CALL(optional, hipError_t, hipGraphInstantiateWithFlags,                                         \
       (hipGraphExec_t * executable, hipGraph_t graph, unsigned long long flags))                  \
  CALL(optional, hipError_t, hipGraphLaunch, (hipGraphExec_t executable, hipStream_t stream))      \
  CALL(optional, hipError_t, hipGraphExecDestroy, (hipGraphExec_t executable))                     \
  CALL(optional, hipError_t, hipGraphDestroy, (hipGraph_t graph))
HIPTOOL_CALL_TABLE(Api, HIPTOOL_HIP_CALLS);

/// Name of a call, "hipMalloc" for &Api::hipMalloc.
template <auto Member>
constexpr std::string_view call_name() {
  std::string_view found;
  Api::for_each([&found](auto member, std::string_view name, Need) {
    if constexpr (std::is_same_v<decltype(member), std::remove_cv_t<decltype(Member)>>) {
      if (member == Member) found = name;
    }
  });
  return found;
}

/// A table in which every call returns hipErrorNotSupported (and error texts are "unknown");
/// binders start from it.
Api make_unsupported_api();

}  // namespace hiptool::hip
