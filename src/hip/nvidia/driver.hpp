// SPDX-License-Identifier: MIT
/// The CUDA driver as a table of function pointers. Members carry the names given to dlsym: the
/// unsuffixed twins of the _v2 names are the CUDA 3 interface.
#pragma once
#include <string>
#include <string_view>

#include "base/dynamic_library.hpp"
#include "hip/call_table.hpp"
#include "hip/nvidia/cuda.hpp"

namespace hiptool::hip::nvidia {

#define HIPTOOL_CUDA_CALLS(CALL)                                                                   \
  CALL(required, CUresult, cuInit, (unsigned flags))                                               \
  CALL(required, CUresult, cuDriverGetVersion, (int* version))                                     \
  CALL(optional, CUresult, cuGetErrorName, (CUresult error, const char** text))                    \
  CALL(optional, CUresult, cuGetErrorString, (CUresult error, const char** text))                  \
  CALL(required, CUresult, cuDeviceGetCount, (int* count))                                         \
  CALL(required, CUresult, cuDeviceGet, (CUdevice * device, int ordinal))                          \
  CALL(required, CUresult, cuDeviceGetName, (char* name, int length, CUdevice device))             \
  CALL(optional, CUresult, cuDeviceGetUuid, (CUuuid * uuid, CUdevice device))                      \
  CALL(optional, CUresult, cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice device))                   \
  CALL(required, CUresult, cuDeviceTotalMem_v2, (std::size_t * bytes, CUdevice device))            \
  CALL(required, CUresult, cuDeviceGetAttribute,                                                   \
       (int* value, CUdevice_attribute attribute, CUdevice device))                                \
  CALL(optional, CUresult, cuDeviceGetPCIBusId, (char* id, int length, CUdevice device))           \
  CALL(optional, CUresult, cuDeviceCanAccessPeer,                                                  \
       (int* can_access, CUdevice device, CUdevice peer))                                          \
  CALL(required, CUresult, cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))       \
  CALL(required, CUresult, cuCtxSetCurrent, (CUcontext context))                                   \
  CALL(required, CUresult, cuCtxSynchronize, ())                                                   \
  CALL(required, CUresult, cuCtxGetStreamPriorityRange, (int* least, int* greatest))               \
  CALL(optional, CUresult, cuCtxEnablePeerAccess, (CUcontext peer, unsigned flags))                \
  CALL(optional, CUresult, cuCtxDisablePeerAccess, (CUcontext peer))                               \
  CALL(required, CUresult, cuMemGetInfo_v2, (std::size_t * free_bytes, std::size_t * total_bytes)) \
  CALL(required, CUresult, cuMemAlloc_v2, (CUdeviceptr * address, std::size_t bytes))              \
  CALL(required, CUresult, cuMemFree_v2, (CUdeviceptr address))                                    \
  CALL(optional, CUresult, cuMemAllocManaged,                                                      \
       (CUdeviceptr * address, std::size_t bytes, unsigned flags))                                 \
  CALL(required, CUresult, cuMemHostAlloc, (void** pointer, std::size_t bytes, unsigned flags))    \
  CALL(required, CUresult, cuMemFreeHost, (void* pointer))                                         \
  CALL(required, CUresult, cuMemHostRegister_v2,                                                   \
       (void* pointer, std::size_t bytes, unsigned flags))                                         \
  CALL(required, CUresult, cuMemHostUnregister, (void* pointer))                                   \
  CALL(optional, CUresult, cuMemHostGetDevicePointer_v2,                                           \
       (CUdeviceptr * address, void* pointer, unsigned flags))                                     \
  CALL(required, CUresult, cuMemcpyAsync,                                                          \
       (CUdeviceptr destination, CUdeviceptr source, std::size_t bytes, CUstream stream))          \
  CALL(optional, CUresult, cuMemcpyPeerAsync,                                                      \
       (CUdeviceptr destination, CUcontext destination_context, CUdeviceptr source,                \
        CUcontext source_context, std::size_t bytes, CUstream stream))                             \
  CALL(required, CUresult, cuMemcpy2DAsync_v2, (const CudaMemcpy2D* copy, CUstream stream))        \
  CALL(required, CUresult, cuMemsetD8Async,                                                        \
       (CUdeviceptr destination, unsigned char value, std::size_t count, CUstream stream))         \
  CALL(required, CUresult, cuStreamCreate, (CUstream * stream, unsigned flags))                    \
  CALL(required, CUresult, cuStreamCreateWithPriority,                                             \
       (CUstream * stream, unsigned flags, int priority))                                          \
  CALL(required, CUresult, cuStreamDestroy_v2, (CUstream stream))                                  \
  CALL(optional, CUresult, cuStreamGetCtx, (CUstream stream, CUcontext * context))                 \
  CALL(required, CUresult, cuStreamQuery, (CUstream stream))                                       \
  CALL(required, CUresult, cuStreamSynchronize, (CUstream stream))                                 \
  CALL(required, CUresult, cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags))    \
  CALL(optional, CUresult, cuLaunchHostFunc,                                                       \
       (CUstream stream, CUhostFn function, void* user_data))                                      \
  CALL(required, CUresult, cuEventCreate, (CUevent * event, unsigned flags))                       \
  CALL(required, CUresult, cuEventDestroy_v2, (CUevent event))                                     \
  CALL(required, CUresult, cuEventRecord, (CUevent event, CUstream stream))                        \
  CALL(required, CUresult, cuEventQuery, (CUevent event))                                          \
  CALL(required, CUresult, cuEventSynchronize, (CUevent event))                                    \
  CALL(required, CUresult, cuEventElapsedTime, (float* milliseconds, CUevent start, CUevent stop)) \
  CALL(optional, CUresult, cuModuleLoadData, (CUmodule * module, const void* image))               \
  CALL(optional, CUresult, cuModuleLoadDataEx,                                                     \
       (CUmodule * module, const void* image, unsigned options, CUjit_option* option,              \
        void** option_value))                                                                      \
  CALL(optional, CUresult, cuModuleUnload, (CUmodule module))                                      \
  CALL(optional, CUresult, cuModuleGetFunction,                                                    \
       (CUfunction * function, CUmodule module, const char* name))                                 \
  CALL(optional, CUresult, cuModuleGetGlobal_v2,                                                   \
       (CUdeviceptr * address, std::size_t * size_bytes, CUmodule module, const char* name))       \
  CALL(optional, CUresult, cuLaunchKernel,                                                         \
       (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,  \
        unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream,                \
        void** arguments, void** extra))                                                           \
  CALL(optional, CUresult, cuLaunchKernelEx,                                                       \
       (const CudaLaunch* launch, CUfunction function, void** arguments, void** extra))            \
  CALL(optional, CUresult, cuFuncGetAttribute,                                                     \
       (int* value, CUfunction_attribute attribute, CUfunction function))                          \
  CALL(optional, CUresult, cuFuncSetAttribute,                                                     \
       (CUfunction function, CUfunction_attribute attribute, int value))                           \
  CALL(optional, CUresult, cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode))   \
  CALL(optional, CUresult, cuStreamEndCapture, (CUstream stream, CUgraph * graph))                 \
  CALL(optional, CUresult, cuGraphInstantiateWithFlags,                                            \
       (CUgraphExec * executable, CUgraph graph, unsigned long long flags))                        \
  CALL(optional, CUresult, cuGraphLaunch, (CUgraphExec executable, CUstream stream))               \
  CALL(optional, CUresult, cuGraphExecDestroy, (CUgraphExec executable))                           \
  CALL(optional, CUresult, cuGraphDestroy, (CUgraph graph))
HIPTOOL_CALL_TABLE(CudaDriver, HIPTOOL_CUDA_CALLS);

/// Looks up every symbol. An absent optional one returns CUDA_ERROR_NOT_SUPPORTED; absent required
/// ones are named in the result, separated by commas (empty: all found).
std::string load_driver(const base::DynamicLibrary& library, CudaDriver& driver);

/// The driver of this process. The functions of the HIP table have no context argument, so there is
/// one; it is filled when the platform is bound, before the table is returned.
CudaDriver& cuda() noexcept;

}  // namespace hiptool::hip::nvidia
