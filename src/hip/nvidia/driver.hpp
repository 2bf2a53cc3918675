// SPDX-License-Identifier: MIT
/// The CUDA driver as a table of function pointers. Members carry the names given to dlsym: the
/// unsuffixed twins of the _v2 names are the CUDA 3 interface.
#pragma once
#include <string>
#include <string_view>

#include "base/dynamic_library.hpp"
#include "hip/nvidia/cuda.hpp"

namespace hiptool::hip::nvidia {

struct CudaDriver {
  CUresult (*cuInit)(unsigned flags);
  CUresult (*cuDriverGetVersion)(int* version);
  CUresult (*cuGetErrorName)(CUresult error, const char** text);
  CUresult (*cuGetErrorString)(CUresult error, const char** text);

  CUresult (*cuDeviceGetCount)(int* count);
  CUresult (*cuDeviceGet)(CUdevice* device, int ordinal);
  CUresult (*cuDeviceGetName)(char* name, int length, CUdevice device);
  CUresult (*cuDeviceGetUuid)(CUuuid* uuid, CUdevice device);
  CUresult (*cuDeviceGetUuid_v2)(CUuuid* uuid, CUdevice device);
  CUresult (*cuDeviceTotalMem_v2)(std::size_t* bytes, CUdevice device);
  CUresult (*cuDeviceGetAttribute)(int* value, CUdevice_attribute attribute, CUdevice device);
  CUresult (*cuDeviceGetPCIBusId)(char* id, int length, CUdevice device);
  CUresult (*cuDeviceCanAccessPeer)(int* can_access, CUdevice device, CUdevice peer);

  CUresult (*cuDevicePrimaryCtxRetain)(CUcontext* context, CUdevice device);
  CUresult (*cuCtxSetCurrent)(CUcontext context);
  CUresult (*cuCtxSynchronize)();
  CUresult (*cuCtxGetStreamPriorityRange)(int* least, int* greatest);
  CUresult (*cuCtxEnablePeerAccess)(CUcontext peer, unsigned flags);
  CUresult (*cuCtxDisablePeerAccess)(CUcontext peer);

  CUresult (*cuMemGetInfo_v2)(std::size_t* free_bytes, std::size_t* total_bytes);
  CUresult (*cuMemAlloc_v2)(CUdeviceptr* address, std::size_t bytes);
  CUresult (*cuMemFree_v2)(CUdeviceptr address);
  CUresult (*cuMemAllocManaged)(CUdeviceptr* address, std::size_t bytes, unsigned flags);
  CUresult (*cuMemHostAlloc)(void** pointer, std::size_t bytes, unsigned flags);
  CUresult (*cuMemFreeHost)(void* pointer);
  CUresult (*cuMemHostRegister_v2)(void* pointer, std::size_t bytes, unsigned flags);
  CUresult (*cuMemHostUnregister)(void* pointer);
  CUresult (*cuMemHostGetDevicePointer_v2)(CUdeviceptr* address, void* pointer, unsigned flags);

  CUresult (*cuMemcpyAsync)(CUdeviceptr destination, CUdeviceptr source, std::size_t bytes,
                            CUstream stream);
  CUresult (*cuMemcpyPeerAsync)(CUdeviceptr destination, CUcontext destination_context,
                                CUdeviceptr source, CUcontext source_context, std::size_t bytes,
                                CUstream stream);
  CUresult (*cuMemcpy2DAsync_v2)(const CudaMemcpy2D* copy, CUstream stream);
  CUresult (*cuMemsetD8Async)(CUdeviceptr destination, unsigned char value, std::size_t count,
                              CUstream stream);

  CUresult (*cuStreamCreate)(CUstream* stream, unsigned flags);
  CUresult (*cuStreamCreateWithPriority)(CUstream* stream, unsigned flags, int priority);
  CUresult (*cuStreamDestroy_v2)(CUstream stream);
  CUresult (*cuStreamGetCtx)(CUstream stream, CUcontext* context);
  CUresult (*cuStreamQuery)(CUstream stream);
  CUresult (*cuStreamSynchronize)(CUstream stream);
  CUresult (*cuStreamWaitEvent)(CUstream stream, CUevent event, unsigned flags);
  CUresult (*cuLaunchHostFunc)(CUstream stream, CUhostFn function, void* user_data);
  CUresult (*cuEventCreate)(CUevent* event, unsigned flags);
  CUresult (*cuEventDestroy_v2)(CUevent event);
  CUresult (*cuEventRecord)(CUevent event, CUstream stream);
  CUresult (*cuEventQuery)(CUevent event);
  CUresult (*cuEventSynchronize)(CUevent event);
  CUresult (*cuEventElapsedTime)(float* milliseconds, CUevent start, CUevent stop);

  CUresult (*cuModuleLoadData)(CUmodule* module, const void* image);
  CUresult (*cuModuleLoadDataEx)(CUmodule* module, const void* image, unsigned options,
                                 CUjit_option* option, void** option_value);
  CUresult (*cuModuleUnload)(CUmodule module);
  CUresult (*cuModuleGetFunction)(CUfunction* function, CUmodule module, const char* name);
  CUresult (*cuLaunchKernel)(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                             unsigned block_x, unsigned block_y, unsigned block_z,
                             unsigned shared_bytes, CUstream stream, void** arguments,
                             void** extra);
  CUresult (*cuFuncGetAttribute)(int* value, CUfunction_attribute attribute, CUfunction function);
  CUresult (*cuFuncSetAttribute)(CUfunction function, CUfunction_attribute attribute, int value);
};

/// Looks up every symbol. An absent optional one returns CUDA_ERROR_NOT_SUPPORTED; absent required
/// ones are named in the result, separated by commas (empty: all found).
std::string load_driver(const base::DynamicLibrary& library, CudaDriver& driver);

/// The driver of this process. The functions of the HIP table have no context argument, so there is
/// one; it is filled when the platform is bound, before the table is returned.
CudaDriver& cuda() noexcept;

}  // namespace hiptool::hip::nvidia
