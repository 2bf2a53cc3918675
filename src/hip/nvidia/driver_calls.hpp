// SPDX-License-Identifier: MIT
/// The list of CudaDriver's members. A symbol is required when a required call of the HIP table
/// uses it; calls that only newer drivers have are optional.
#pragma once
#include <type_traits>

#include "hip/nvidia/driver.hpp"

namespace hiptool::hip::nvidia {

/// Visits every member: visit(&CudaDriver::member, "symbol", is_required).
template <class Visitor>
constexpr void for_each_driver_call(Visitor&& visit) {
  constexpr bool required = true;
  constexpr bool optional = false;
  visit(&CudaDriver::cuInit, "cuInit", required);
  visit(&CudaDriver::cuDriverGetVersion, "cuDriverGetVersion", required);
  visit(&CudaDriver::cuGetErrorName, "cuGetErrorName", optional);
  visit(&CudaDriver::cuGetErrorString, "cuGetErrorString", optional);
  visit(&CudaDriver::cuDeviceGetCount, "cuDeviceGetCount", required);
  visit(&CudaDriver::cuDeviceGet, "cuDeviceGet", required);
  visit(&CudaDriver::cuDeviceGetName, "cuDeviceGetName", required);
  visit(&CudaDriver::cuDeviceGetUuid, "cuDeviceGetUuid", optional);
  visit(&CudaDriver::cuDeviceGetUuid_v2, "cuDeviceGetUuid_v2", optional);
  visit(&CudaDriver::cuDeviceTotalMem_v2, "cuDeviceTotalMem_v2", required);
  visit(&CudaDriver::cuDeviceGetAttribute, "cuDeviceGetAttribute", required);
  visit(&CudaDriver::cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId", optional);
  visit(&CudaDriver::cuDeviceCanAccessPeer, "cuDeviceCanAccessPeer", optional);
  visit(&CudaDriver::cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", required);
  visit(&CudaDriver::cuCtxSetCurrent, "cuCtxSetCurrent", required);
  visit(&CudaDriver::cuCtxSynchronize, "cuCtxSynchronize", required);
  visit(&CudaDriver::cuCtxGetStreamPriorityRange, "cuCtxGetStreamPriorityRange", required);
  visit(&CudaDriver::cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess", optional);
  visit(&CudaDriver::cuCtxDisablePeerAccess, "cuCtxDisablePeerAccess", optional);
  visit(&CudaDriver::cuMemGetInfo_v2, "cuMemGetInfo_v2", required);
  visit(&CudaDriver::cuMemAlloc_v2, "cuMemAlloc_v2", required);
  visit(&CudaDriver::cuMemFree_v2, "cuMemFree_v2", required);
  visit(&CudaDriver::cuMemAllocManaged, "cuMemAllocManaged", optional);
  visit(&CudaDriver::cuMemHostAlloc, "cuMemHostAlloc", required);
  visit(&CudaDriver::cuMemFreeHost, "cuMemFreeHost", required);
  visit(&CudaDriver::cuMemHostRegister_v2, "cuMemHostRegister_v2", required);
  visit(&CudaDriver::cuMemHostUnregister, "cuMemHostUnregister", required);
  visit(&CudaDriver::cuMemHostGetDevicePointer_v2, "cuMemHostGetDevicePointer_v2", optional);
  visit(&CudaDriver::cuMemcpyAsync, "cuMemcpyAsync", required);
  visit(&CudaDriver::cuMemcpyPeerAsync, "cuMemcpyPeerAsync", optional);
  visit(&CudaDriver::cuMemcpy2DAsync_v2, "cuMemcpy2DAsync_v2", required);
  visit(&CudaDriver::cuMemsetD8Async, "cuMemsetD8Async", required);
  visit(&CudaDriver::cuStreamCreate, "cuStreamCreate", required);
  visit(&CudaDriver::cuStreamCreateWithPriority, "cuStreamCreateWithPriority", required);
  visit(&CudaDriver::cuStreamDestroy_v2, "cuStreamDestroy_v2", required);
  visit(&CudaDriver::cuStreamGetCtx, "cuStreamGetCtx", optional);
  visit(&CudaDriver::cuStreamQuery, "cuStreamQuery", required);
  visit(&CudaDriver::cuStreamSynchronize, "cuStreamSynchronize", required);
  visit(&CudaDriver::cuStreamWaitEvent, "cuStreamWaitEvent", required);
  visit(&CudaDriver::cuLaunchHostFunc, "cuLaunchHostFunc", optional);
  visit(&CudaDriver::cuEventCreate, "cuEventCreate", required);
  visit(&CudaDriver::cuEventDestroy_v2, "cuEventDestroy_v2", required);
  visit(&CudaDriver::cuEventRecord, "cuEventRecord", required);
  visit(&CudaDriver::cuEventQuery, "cuEventQuery", required);
  visit(&CudaDriver::cuEventSynchronize, "cuEventSynchronize", required);
  visit(&CudaDriver::cuEventElapsedTime, "cuEventElapsedTime", required);
  visit(&CudaDriver::cuModuleLoadData, "cuModuleLoadData", optional);
  visit(&CudaDriver::cuModuleLoadDataEx, "cuModuleLoadDataEx", optional);
  visit(&CudaDriver::cuModuleUnload, "cuModuleUnload", optional);
  visit(&CudaDriver::cuModuleGetFunction, "cuModuleGetFunction", optional);
  visit(&CudaDriver::cuLaunchKernel, "cuLaunchKernel", optional);
  visit(&CudaDriver::cuFuncGetAttribute, "cuFuncGetAttribute", optional);
  visit(&CudaDriver::cuFuncSetAttribute, "cuFuncSetAttribute", optional);
}

constexpr std::size_t driver_call_count() {
  std::size_t count = 0;
  for_each_driver_call([&count](auto, const char*, bool) { ++count; });
  return count;
}
static_assert(driver_call_count() * sizeof(void (*)()) == sizeof(CudaDriver),
              "a call is missing in the list");

}  // namespace hiptool::hip::nvidia
