// SPDX-License-Identifier: MIT
/// The list of CudaDriver's members. A symbol is required when a required call of the HIP table
/// stands on it; what only newer drivers have is optional.
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
  visit(&CudaDriver::cuDeviceGetByPCIBusId, "cuDeviceGetByPCIBusId", optional);
  visit(&CudaDriver::cuDeviceCanAccessPeer, "cuDeviceCanAccessPeer", optional);
  visit(&CudaDriver::cuDeviceGetP2PAttribute, "cuDeviceGetP2PAttribute", optional);
  visit(&CudaDriver::cuDeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool", optional);
  visit(&CudaDriver::cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", required);
  visit(&CudaDriver::cuDevicePrimaryCtxSetFlags_v2, "cuDevicePrimaryCtxSetFlags_v2", optional);
  visit(&CudaDriver::cuCtxSetCurrent, "cuCtxSetCurrent", required);
  visit(&CudaDriver::cuCtxSynchronize, "cuCtxSynchronize", required);
  visit(&CudaDriver::cuCtxGetStreamPriorityRange, "cuCtxGetStreamPriorityRange", required);
  visit(&CudaDriver::cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess", optional);
  visit(&CudaDriver::cuCtxDisablePeerAccess, "cuCtxDisablePeerAccess", optional);
  visit(&CudaDriver::cuMemGetInfo_v2, "cuMemGetInfo_v2", required);
  visit(&CudaDriver::cuMemAlloc_v2, "cuMemAlloc_v2", required);
  visit(&CudaDriver::cuMemFree_v2, "cuMemFree_v2", required);
  visit(&CudaDriver::cuMemAllocManaged, "cuMemAllocManaged", optional);
  visit(&CudaDriver::cuMemAllocAsync, "cuMemAllocAsync", optional);
  visit(&CudaDriver::cuMemFreeAsync, "cuMemFreeAsync", optional);
  visit(&CudaDriver::cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", optional);
  visit(&CudaDriver::cuMemPoolSetAttribute, "cuMemPoolSetAttribute", optional);
  visit(&CudaDriver::cuMemPoolTrimTo, "cuMemPoolTrimTo", optional);
  visit(&CudaDriver::cuMemHostAlloc, "cuMemHostAlloc", required);
  visit(&CudaDriver::cuMemFreeHost, "cuMemFreeHost", required);
  visit(&CudaDriver::cuMemHostRegister_v2, "cuMemHostRegister_v2", required);
  visit(&CudaDriver::cuMemHostUnregister, "cuMemHostUnregister", required);
  visit(&CudaDriver::cuMemHostGetDevicePointer_v2, "cuMemHostGetDevicePointer_v2", optional);
  visit(&CudaDriver::cuMemHostGetFlags, "cuMemHostGetFlags", optional);
  visit(&CudaDriver::cuPointerGetAttributes, "cuPointerGetAttributes", optional);
  visit(&CudaDriver::cuMemGetAddressRange_v2, "cuMemGetAddressRange_v2", optional);
  visit(&CudaDriver::cuMemcpy, "cuMemcpy", required);
  visit(&CudaDriver::cuMemcpyAsync, "cuMemcpyAsync", required);
  visit(&CudaDriver::cuMemcpyHtoD_v2, "cuMemcpyHtoD_v2", optional);
  visit(&CudaDriver::cuMemcpyDtoH_v2, "cuMemcpyDtoH_v2", optional);
  visit(&CudaDriver::cuMemcpyDtoD_v2, "cuMemcpyDtoD_v2", optional);
  visit(&CudaDriver::cuMemcpyHtoDAsync_v2, "cuMemcpyHtoDAsync_v2", optional);
  visit(&CudaDriver::cuMemcpyDtoHAsync_v2, "cuMemcpyDtoHAsync_v2", optional);
  visit(&CudaDriver::cuMemcpyDtoDAsync_v2, "cuMemcpyDtoDAsync_v2", optional);
  visit(&CudaDriver::cuMemcpyPeer, "cuMemcpyPeer", optional);
  visit(&CudaDriver::cuMemcpyPeerAsync, "cuMemcpyPeerAsync", optional);
  visit(&CudaDriver::cuMemcpy2DAsync_v2, "cuMemcpy2DAsync_v2", required);
  visit(&CudaDriver::cuMemsetD8_v2, "cuMemsetD8_v2", required);
  visit(&CudaDriver::cuMemsetD8Async, "cuMemsetD8Async", required);
  visit(&CudaDriver::cuMemsetD32Async, "cuMemsetD32Async", optional);
  visit(&CudaDriver::cuStreamCreate, "cuStreamCreate", required);
  visit(&CudaDriver::cuStreamCreateWithPriority, "cuStreamCreateWithPriority", required);
  visit(&CudaDriver::cuStreamDestroy_v2, "cuStreamDestroy_v2", required);
  visit(&CudaDriver::cuStreamGetCtx, "cuStreamGetCtx", optional);
  visit(&CudaDriver::cuStreamQuery, "cuStreamQuery", required);
  visit(&CudaDriver::cuStreamSynchronize, "cuStreamSynchronize", required);
  visit(&CudaDriver::cuStreamWaitEvent, "cuStreamWaitEvent", required);
  visit(&CudaDriver::cuLaunchHostFunc, "cuLaunchHostFunc", optional);
  visit(&CudaDriver::cuStreamAddCallback, "cuStreamAddCallback", optional);
  visit(&CudaDriver::cuEventCreate, "cuEventCreate", required);
  visit(&CudaDriver::cuEventDestroy_v2, "cuEventDestroy_v2", required);
  visit(&CudaDriver::cuEventRecord, "cuEventRecord", required);
  visit(&CudaDriver::cuEventQuery, "cuEventQuery", required);
  visit(&CudaDriver::cuEventSynchronize, "cuEventSynchronize", required);
  visit(&CudaDriver::cuEventElapsedTime, "cuEventElapsedTime", required);
  visit(&CudaDriver::cuModuleLoad, "cuModuleLoad", optional);
  visit(&CudaDriver::cuModuleLoadData, "cuModuleLoadData", optional);
  visit(&CudaDriver::cuModuleLoadDataEx, "cuModuleLoadDataEx", optional);
  visit(&CudaDriver::cuModuleUnload, "cuModuleUnload", optional);
  visit(&CudaDriver::cuModuleGetFunction, "cuModuleGetFunction", optional);
  visit(&CudaDriver::cuModuleGetGlobal_v2, "cuModuleGetGlobal_v2", optional);
  visit(&CudaDriver::cuLaunchKernel, "cuLaunchKernel", optional);
  visit(&CudaDriver::cuFuncGetAttribute, "cuFuncGetAttribute", optional);
  visit(&CudaDriver::cuFuncSetAttribute, "cuFuncSetAttribute", optional);
  visit(&CudaDriver::cuOccupancyMaxActiveBlocksPerMultiprocessor,
        "cuOccupancyMaxActiveBlocksPerMultiprocessor", optional);
  visit(&CudaDriver::cuOccupancyMaxPotentialBlockSize, "cuOccupancyMaxPotentialBlockSize",
        optional);
}

constexpr std::size_t driver_call_count() {
  std::size_t count = 0;
  for_each_driver_call([&count](auto, const char*, bool) { ++count; });
  return count;
}
static_assert(driver_call_count() * sizeof(void (*)()) == sizeof(CudaDriver),
              "a call is missing in the list");

}  // namespace hiptool::hip::nvidia
