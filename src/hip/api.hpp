// SPDX-License-Identifier: MIT
/// The HIP table: HIP's calls as function pointers, with HIP's names and signatures. The contract
/// is HIP's semantics as of ROCm 7 (HIP API reference). Every pointer of a bound table can be
/// called: an optional call that the platform lacks returns hipErrorNotSupported.
#pragma once
#include <string_view>
#include <type_traits>

#include "hip/abi.hpp"

namespace hiptool::hip {

struct Api {
  // runtime
  hipError_t (*hipInit)(unsigned flags);
  hipError_t (*hipRuntimeGetVersion)(int* version);
  hipError_t (*hipDriverGetVersion)(int* version);
  const char* (*hipGetErrorName)(hipError_t error);
  const char* (*hipGetErrorString)(hipError_t error);

  // devices
  hipError_t (*hipGetDeviceCount)(int* count);
  hipError_t (*hipGetDevice)(int* ordinal);
  hipError_t (*hipSetDevice)(int ordinal);
  hipError_t (*hipDeviceSynchronize)();
  hipError_t (*hipDeviceGetName)(char* name, int length, hipDevice_t device);
  hipError_t (*hipDeviceGetUuid)(hipUUID* uuid, hipDevice_t device);
  hipError_t (*hipDeviceTotalMem)(std::size_t* bytes, hipDevice_t device);
  hipError_t (*hipDeviceGetAttribute)(int* value, hipDeviceAttribute_t attribute, int ordinal);
  hipError_t (*hipDeviceGetPCIBusId)(char* id, int length, int ordinal);
  hipError_t (*hipGetDevicePropertiesR0000)(void* properties, int ordinal);
  hipError_t (*hipGetDevicePropertiesR0600)(void* properties, int ordinal);

  // peers
  hipError_t (*hipDeviceCanAccessPeer)(int* can_access, int ordinal, int peer);
  hipError_t (*hipDeviceEnablePeerAccess)(int peer, unsigned flags);
  hipError_t (*hipDeviceDisablePeerAccess)(int peer);

  // memory
  hipError_t (*hipMemGetInfo)(std::size_t* free_bytes, std::size_t* total_bytes);
  hipError_t (*hipMalloc)(void** pointer, std::size_t bytes);
  hipError_t (*hipFree)(void* pointer);
  hipError_t (*hipMallocManaged)(void** pointer, std::size_t bytes, unsigned flags);
  hipError_t (*hipHostMalloc)(void** pointer, std::size_t bytes, unsigned flags);
  hipError_t (*hipHostFree)(void* pointer);
  hipError_t (*hipHostRegister)(void* pointer, std::size_t bytes, unsigned flags);
  hipError_t (*hipHostUnregister)(void* pointer);
  hipError_t (*hipHostGetDevicePointer)(void** device_pointer, void* host_pointer, unsigned flags);

  // copies
  hipError_t (*hipMemcpyAsync)(void* destination, const void* source, std::size_t bytes,
                               hipMemcpyKind kind, hipStream_t stream);
  hipError_t (*hipMemcpyPeerAsync)(void* destination, int destination_ordinal, const void* source,
                                   int source_ordinal, std::size_t bytes, hipStream_t stream);
  hipError_t (*hipMemcpy2DAsync)(void* destination, std::size_t destination_pitch,
                                 const void* source, std::size_t source_pitch, std::size_t width,
                                 std::size_t height, hipMemcpyKind kind, hipStream_t stream);
  hipError_t (*hipMemsetAsync)(void* destination, int value, std::size_t bytes, hipStream_t stream);

  // streams
  hipError_t (*hipStreamCreateWithFlags)(hipStream_t* stream, unsigned flags);
  hipError_t (*hipStreamCreateWithPriority)(hipStream_t* stream, unsigned flags, int priority);
  hipError_t (*hipDeviceGetStreamPriorityRange)(int* least, int* greatest);
  hipError_t (*hipStreamDestroy)(hipStream_t stream);
  hipError_t (*hipStreamQuery)(hipStream_t stream);
  hipError_t (*hipStreamSynchronize)(hipStream_t stream);
  hipError_t (*hipStreamWaitEvent)(hipStream_t stream, hipEvent_t event, unsigned flags);
  hipError_t (*hipLaunchHostFunc)(hipStream_t stream, hipHostFn_t function, void* user_data);

  // events
  hipError_t (*hipEventCreateWithFlags)(hipEvent_t* event, unsigned flags);
  hipError_t (*hipEventDestroy)(hipEvent_t event);
  hipError_t (*hipEventRecord)(hipEvent_t event, hipStream_t stream);
  hipError_t (*hipEventQuery)(hipEvent_t event);
  hipError_t (*hipEventSynchronize)(hipEvent_t event);
  hipError_t (*hipEventElapsedTime)(float* milliseconds, hipEvent_t start, hipEvent_t stop);

  // modules
  hipError_t (*hipModuleLoadData)(hipModule_t* module, const void* image);
  hipError_t (*hipModuleLoadDataEx)(hipModule_t* module, const void* image, unsigned options,
                                    hipJitOption* option, void** option_value);
  hipError_t (*hipModuleUnload)(hipModule_t module);
  hipError_t (*hipModuleGetFunction)(hipFunction_t* function, hipModule_t module, const char* name);
  hipError_t (*hipModuleLaunchKernel)(hipFunction_t function, unsigned grid_x, unsigned grid_y,
                                      unsigned grid_z, unsigned block_x, unsigned block_y,
                                      unsigned block_z, unsigned shared_bytes, hipStream_t stream,
                                      void** arguments, void** extra);
  hipError_t (*hipFuncGetAttribute)(int* value, hipFunction_attribute attribute,
                                    hipFunction_t function);
};

/// Whether a platform must have a call to be usable at all.
enum class Need { required, optional };

/// Visits every call of the table: visit(&Api::member, "name", Need).
template <class Visitor>
constexpr void for_each_call(Visitor&& visit) {
  using enum Need;
  visit(&Api::hipInit, "hipInit", required);
  visit(&Api::hipRuntimeGetVersion, "hipRuntimeGetVersion", required);
  visit(&Api::hipDriverGetVersion, "hipDriverGetVersion", required);
  visit(&Api::hipGetErrorName, "hipGetErrorName", required);
  visit(&Api::hipGetErrorString, "hipGetErrorString", required);
  visit(&Api::hipGetDeviceCount, "hipGetDeviceCount", required);
  visit(&Api::hipGetDevice, "hipGetDevice", required);
  visit(&Api::hipSetDevice, "hipSetDevice", required);
  visit(&Api::hipDeviceSynchronize, "hipDeviceSynchronize", required);
  visit(&Api::hipDeviceGetName, "hipDeviceGetName", required);
  visit(&Api::hipDeviceGetUuid, "hipDeviceGetUuid", optional);
  visit(&Api::hipDeviceTotalMem, "hipDeviceTotalMem", required);
  visit(&Api::hipDeviceGetAttribute, "hipDeviceGetAttribute", required);
  visit(&Api::hipDeviceGetPCIBusId, "hipDeviceGetPCIBusId", optional);
  visit(&Api::hipGetDevicePropertiesR0000, "hipGetDevicePropertiesR0000", optional);
  visit(&Api::hipGetDevicePropertiesR0600, "hipGetDevicePropertiesR0600", optional);
  visit(&Api::hipDeviceCanAccessPeer, "hipDeviceCanAccessPeer", optional);
  visit(&Api::hipDeviceEnablePeerAccess, "hipDeviceEnablePeerAccess", optional);
  visit(&Api::hipDeviceDisablePeerAccess, "hipDeviceDisablePeerAccess", optional);
  visit(&Api::hipMemGetInfo, "hipMemGetInfo", required);
  visit(&Api::hipMalloc, "hipMalloc", required);
  visit(&Api::hipFree, "hipFree", required);
  visit(&Api::hipMallocManaged, "hipMallocManaged", optional);
  visit(&Api::hipHostMalloc, "hipHostMalloc", required);
  visit(&Api::hipHostFree, "hipHostFree", required);
  visit(&Api::hipHostRegister, "hipHostRegister", required);
  visit(&Api::hipHostUnregister, "hipHostUnregister", required);
  visit(&Api::hipHostGetDevicePointer, "hipHostGetDevicePointer", optional);
  visit(&Api::hipMemcpyAsync, "hipMemcpyAsync", required);
  visit(&Api::hipMemcpyPeerAsync, "hipMemcpyPeerAsync", optional);
  visit(&Api::hipMemcpy2DAsync, "hipMemcpy2DAsync", required);
  visit(&Api::hipMemsetAsync, "hipMemsetAsync", required);
  visit(&Api::hipStreamCreateWithFlags, "hipStreamCreateWithFlags", required);
  visit(&Api::hipStreamCreateWithPriority, "hipStreamCreateWithPriority", required);
  visit(&Api::hipDeviceGetStreamPriorityRange, "hipDeviceGetStreamPriorityRange", required);
  visit(&Api::hipStreamDestroy, "hipStreamDestroy", required);
  visit(&Api::hipStreamQuery, "hipStreamQuery", required);
  visit(&Api::hipStreamSynchronize, "hipStreamSynchronize", required);
  visit(&Api::hipStreamWaitEvent, "hipStreamWaitEvent", required);
  visit(&Api::hipLaunchHostFunc, "hipLaunchHostFunc", optional);
  visit(&Api::hipEventCreateWithFlags, "hipEventCreateWithFlags", required);
  visit(&Api::hipEventDestroy, "hipEventDestroy", required);
  visit(&Api::hipEventRecord, "hipEventRecord", required);
  visit(&Api::hipEventQuery, "hipEventQuery", required);
  visit(&Api::hipEventSynchronize, "hipEventSynchronize", required);
  visit(&Api::hipEventElapsedTime, "hipEventElapsedTime", required);
  visit(&Api::hipModuleLoadData, "hipModuleLoadData", optional);
  visit(&Api::hipModuleLoadDataEx, "hipModuleLoadDataEx", optional);
  visit(&Api::hipModuleUnload, "hipModuleUnload", optional);
  visit(&Api::hipModuleGetFunction, "hipModuleGetFunction", optional);
  visit(&Api::hipModuleLaunchKernel, "hipModuleLaunchKernel", optional);
  visit(&Api::hipFuncGetAttribute, "hipFuncGetAttribute", optional);
}

/// Number of calls that for_each_call visits.
constexpr std::size_t call_count() {
  std::size_t count = 0;
  for_each_call([&count](auto, std::string_view, Need) { ++count; });
  return count;
}
static_assert(call_count() * sizeof(void (*)()) == sizeof(Api), "a call is missing in the list");

/// Name of a call, "hipMalloc" for &Api::hipMalloc.
template <auto Member>
constexpr std::string_view call_name() {
  std::string_view found;
  for_each_call([&found](auto member, std::string_view name, Need) {
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
