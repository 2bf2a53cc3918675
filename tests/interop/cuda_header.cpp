// SPDX-License-Identifier: MIT
/// Our declarations of the CUDA driver against the vendor's cuda.h; all of it is checked while
/// compiling. Our headers come first: the vendor's _v2 names are macros.
#include "hip/nvidia/cuda.hpp"
#include "hip/nvidia/driver.hpp"
#include "interop/same_abi.hpp"

namespace {

namespace hip = hiptool::hip;
namespace ours = hiptool::hip::nvidia;

// The one call whose plain name the vendor's header turns into a newer one with the same arguments,
// which only new drivers have.
using OurElapsedTime = decltype(ours::CudaDriver::cuEventElapsedTime);
// Two whose names are macros: the header gives the first without its suffix, and its plain name for
// the second is another call in old headers.
using OurBeginCapture = decltype(ours::CudaDriver::cuStreamBeginCapture_v2);
using OurInstantiate = decltype(ours::CudaDriver::cuGraphInstantiateWithFlags);

}  // namespace

#include <cuda.h>

namespace {

/// Number for number; the compiler's message shows both.
template <int Ours, int Theirs>
constexpr void check_number() {
  static_assert(Ours == Theirs);
}

template <class Ours, class Theirs>
constexpr void check_call() {
  static_assert(hiptool::test::same_abi<Ours, Theirs>());
}

constexpr void check_CUresult() {
  check_number<ours::CUDA_SUCCESS, ::CUDA_SUCCESS>();
  check_number<ours::CUDA_ERROR_INVALID_VALUE, ::CUDA_ERROR_INVALID_VALUE>();
  check_number<ours::CUDA_ERROR_NOT_INITIALIZED, ::CUDA_ERROR_NOT_INITIALIZED>();
  check_number<ours::CUDA_ERROR_STUB_LIBRARY, ::CUDA_ERROR_STUB_LIBRARY>();
  check_number<ours::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER,
               ::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER>();
  check_number<ours::CUDA_ERROR_DEVICE_UNAVAILABLE, ::CUDA_ERROR_DEVICE_UNAVAILABLE>();
  check_number<ours::CUDA_ERROR_NO_DEVICE, ::CUDA_ERROR_NO_DEVICE>();
  check_number<ours::CUDA_ERROR_INVALID_DEVICE, ::CUDA_ERROR_INVALID_DEVICE>();
  check_number<ours::CUDA_ERROR_INVALID_CONTEXT, ::CUDA_ERROR_INVALID_CONTEXT>();
  check_number<ours::CUDA_ERROR_OPERATING_SYSTEM, ::CUDA_ERROR_OPERATING_SYSTEM>();
  check_number<ours::CUDA_ERROR_NOT_SUPPORTED, ::CUDA_ERROR_NOT_SUPPORTED>();
  check_number<ours::CUDA_ERROR_SYSTEM_NOT_READY, ::CUDA_ERROR_SYSTEM_NOT_READY>();
  check_number<ours::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, ::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH>();
  check_number<ours::CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE,
               ::CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE>();
  check_number<ours::CUDA_ERROR_EXTERNAL_DEVICE, ::CUDA_ERROR_EXTERNAL_DEVICE>();
  check_number<ours::CUDA_ERROR_INVALID_CLUSTER_SIZE, ::CUDA_ERROR_INVALID_CLUSTER_SIZE>();
  check_number<ours::CUDA_ERROR_KEY_ROTATION, ::CUDA_ERROR_KEY_ROTATION>();
  check_number<ours::CUDA_ERROR_UNKNOWN, ::CUDA_ERROR_UNKNOWN>();
}

constexpr void check_CUdevice_attribute() {
  check_number<ours::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
               ::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, ::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, ::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, ::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, ::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, ::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, ::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK,
               ::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY,
               ::CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_WARP_SIZE, ::CU_DEVICE_ATTRIBUTE_WARP_SIZE>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_MAX_PITCH, ::CU_DEVICE_ATTRIBUTE_MAX_PITCH>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK,
               ::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_CLOCK_RATE, ::CU_DEVICE_ATTRIBUTE_CLOCK_RATE>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
               ::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT,
               ::CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_INTEGRATED, ::CU_DEVICE_ATTRIBUTE_INTEGRATED>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY,
               ::CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, ::CU_DEVICE_ATTRIBUTE_COMPUTE_MODE>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS,
               ::CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_ECC_ENABLED, ::CU_DEVICE_ATTRIBUTE_ECC_ENABLED>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, ::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, ::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE,
               ::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH,
               ::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, ::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
               ::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT,
               ::CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING,
               ::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, ::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
               ::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
               ::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED,
               ::CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
               ::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR,
               ::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, ::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID,
               ::CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED,
               ::CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS,
               ::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
               ::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM,
               ::CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH,
               ::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
               ::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED,
               ::CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES,
               ::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST,
               ::CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
               ::CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR,
               ::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED,
               ::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED>();
  check_number<ours::CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES,
               ::CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES>();
}

constexpr void check_CUmemorytype() {
  check_number<ours::CU_MEMORYTYPE_HOST, ::CU_MEMORYTYPE_HOST>();
  check_number<ours::CU_MEMORYTYPE_DEVICE, ::CU_MEMORYTYPE_DEVICE>();
  check_number<ours::CU_MEMORYTYPE_UNIFIED, ::CU_MEMORYTYPE_UNIFIED>();
}

/// HIP's own numbers that are handed to the driver as they are.
constexpr void check_shared_numbers() {
  check_number<hip::hipErrorNoDevice, ::CUDA_ERROR_NO_DEVICE>();
  check_number<hip::hipErrorInvalidValue, ::CUDA_ERROR_INVALID_VALUE>();
  check_number<hip::hipErrorOutOfMemory, ::CUDA_ERROR_OUT_OF_MEMORY>();
  check_number<hip::hipErrorNotInitialized, ::CUDA_ERROR_NOT_INITIALIZED>();
  check_number<hip::hipErrorDeinitialized, ::CUDA_ERROR_DEINITIALIZED>();
  check_number<hip::hipErrorInvalidDevice, ::CUDA_ERROR_INVALID_DEVICE>();
  check_number<hip::hipErrorInvalidImage, ::CUDA_ERROR_INVALID_IMAGE>();
  check_number<hip::hipErrorInvalidContext, ::CUDA_ERROR_INVALID_CONTEXT>();
  check_number<hip::hipErrorNoBinaryForGpu, ::CUDA_ERROR_NO_BINARY_FOR_GPU>();
  check_number<hip::hipErrorECCNotCorrectable, ::CUDA_ERROR_ECC_UNCORRECTABLE>();
  check_number<hip::hipErrorPeerAccessUnsupported, ::CUDA_ERROR_PEER_ACCESS_UNSUPPORTED>();
  check_number<hip::hipErrorInvalidKernelFile, ::CUDA_ERROR_INVALID_PTX>();
  check_number<hip::hipErrorInvalidSource, ::CUDA_ERROR_INVALID_SOURCE>();
  check_number<hip::hipErrorFileNotFound, ::CUDA_ERROR_FILE_NOT_FOUND>();
  check_number<hip::hipErrorSharedObjectSymbolNotFound,
               ::CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND>();
  check_number<hip::hipErrorSharedObjectInitFailed, ::CUDA_ERROR_SHARED_OBJECT_INIT_FAILED>();
  check_number<hip::hipErrorOperatingSystem, ::CUDA_ERROR_OPERATING_SYSTEM>();
  check_number<hip::hipErrorInvalidHandle, ::CUDA_ERROR_INVALID_HANDLE>();
  check_number<hip::hipErrorNotFound, ::CUDA_ERROR_NOT_FOUND>();
  check_number<hip::hipErrorNotReady, ::CUDA_ERROR_NOT_READY>();
  check_number<hip::hipErrorIllegalAddress, ::CUDA_ERROR_ILLEGAL_ADDRESS>();
  check_number<hip::hipErrorLaunchOutOfResources, ::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES>();
  check_number<hip::hipErrorLaunchTimeOut, ::CUDA_ERROR_LAUNCH_TIMEOUT>();
  check_number<hip::hipErrorPeerAccessAlreadyEnabled, ::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED>();
  check_number<hip::hipErrorPeerAccessNotEnabled, ::CUDA_ERROR_PEER_ACCESS_NOT_ENABLED>();
  check_number<hip::hipErrorContextIsDestroyed, ::CUDA_ERROR_CONTEXT_IS_DESTROYED>();
  check_number<hip::hipErrorAssert, ::CUDA_ERROR_ASSERT>();
  check_number<hip::hipErrorHostMemoryAlreadyRegistered,
               ::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED>();
  check_number<hip::hipErrorHostMemoryNotRegistered, ::CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED>();
  check_number<hip::hipErrorLaunchFailure, ::CUDA_ERROR_LAUNCH_FAILED>();
  check_number<hip::hipErrorCooperativeLaunchTooLarge, ::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE>();
  check_number<hip::hipErrorNotSupported, ::CUDA_ERROR_NOT_SUPPORTED>();
  check_number<hip::hipErrorIllegalState, ::CUDA_ERROR_ILLEGAL_STATE>();
  check_number<hip::hipErrorStreamCaptureUnsupported, ::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED>();
  check_number<hip::hipErrorStreamCaptureInvalidated, ::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED>();
  check_number<hip::hipErrorStreamCaptureWrongThread, ::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD>();
  check_number<hip::hipStreamCaptureModeGlobal, ::CU_STREAM_CAPTURE_MODE_GLOBAL>();
  check_number<hip::hipStreamCaptureModeThreadLocal, ::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL>();
  check_number<hip::hipStreamCaptureModeRelaxed, ::CU_STREAM_CAPTURE_MODE_RELAXED>();
  check_number<hip::hipErrorUnknown, ::CUDA_ERROR_UNKNOWN>();
  check_number<hip::hipStreamNonBlocking, ::CU_STREAM_NON_BLOCKING>();
  check_number<hip::hipEventBlockingSync, ::CU_EVENT_BLOCKING_SYNC>();
  check_number<hip::hipEventDisableTiming, ::CU_EVENT_DISABLE_TIMING>();
  check_number<hip::hipEventInterprocess, ::CU_EVENT_INTERPROCESS>();
  check_number<hip::hipHostMallocPortable, CU_MEMHOSTALLOC_PORTABLE>();
  check_number<hip::hipHostMallocMapped, CU_MEMHOSTALLOC_DEVICEMAP>();
  check_number<hip::hipHostMallocWriteCombined, CU_MEMHOSTALLOC_WRITECOMBINED>();
  check_number<hip::hipHostRegisterPortable, CU_MEMHOSTREGISTER_PORTABLE>();
  check_number<hip::hipHostRegisterMapped, CU_MEMHOSTREGISTER_DEVICEMAP>();
  check_number<hip::hipHostRegisterIoMemory, CU_MEMHOSTREGISTER_IOMEMORY>();
  check_number<hip::hipHostRegisterReadOnly, CU_MEMHOSTREGISTER_READ_ONLY>();
  check_number<hip::hipMemAttachGlobal, ::CU_MEM_ATTACH_GLOBAL>();
  check_number<hip::hipJitOptionMaxRegisters, ::CU_JIT_MAX_REGISTERS>();
  check_number<hip::HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
               ::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK>();
  check_number<hip::HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, ::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES>();
  check_number<hip::HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, ::CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES>();
  check_number<hip::HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, ::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES>();
  check_number<hip::HIP_FUNC_ATTRIBUTE_NUM_REGS, ::CU_FUNC_ATTRIBUTE_NUM_REGS>();
  check_number<hip::HIP_FUNC_ATTRIBUTE_PTX_VERSION, ::CU_FUNC_ATTRIBUTE_PTX_VERSION>();
  check_number<hip::HIP_FUNC_ATTRIBUTE_BINARY_VERSION, ::CU_FUNC_ATTRIBUTE_BINARY_VERSION>();
  check_number<hip::HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA, ::CU_FUNC_ATTRIBUTE_CACHE_MODE_CA>();
  check_number<hip::HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
               ::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES>();
  check_number<hip::HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
               ::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT>();
}

constexpr void check_calls() {
  check_call<decltype(ours::CudaDriver::cuInit), decltype(&::cuInit)>();
  check_call<decltype(ours::CudaDriver::cuDriverGetVersion), decltype(&::cuDriverGetVersion)>();
  check_call<decltype(ours::CudaDriver::cuGetErrorName), decltype(&::cuGetErrorName)>();
  check_call<decltype(ours::CudaDriver::cuGetErrorString), decltype(&::cuGetErrorString)>();
  check_call<decltype(ours::CudaDriver::cuDeviceGetCount), decltype(&::cuDeviceGetCount)>();
  check_call<decltype(ours::CudaDriver::cuDeviceGet), decltype(&::cuDeviceGet)>();
  check_call<decltype(ours::CudaDriver::cuDeviceGetName), decltype(&::cuDeviceGetName)>();
  check_call<decltype(ours::CudaDriver::cuDeviceGetUuid), decltype(&::cuDeviceGetUuid)>();
  check_call<decltype(ours::CudaDriver::cuDeviceGetUuid_v2), decltype(&::cuDeviceGetUuid_v2)>();
  check_call<decltype(ours::CudaDriver::cuDeviceTotalMem_v2), decltype(&::cuDeviceTotalMem_v2)>();
  check_call<decltype(ours::CudaDriver::cuDeviceGetAttribute), decltype(&::cuDeviceGetAttribute)>();
  check_call<decltype(ours::CudaDriver::cuDeviceGetPCIBusId), decltype(&::cuDeviceGetPCIBusId)>();
  check_call<decltype(ours::CudaDriver::cuDeviceCanAccessPeer),
             decltype(&::cuDeviceCanAccessPeer)>();
  check_call<decltype(ours::CudaDriver::cuDevicePrimaryCtxRetain),
             decltype(&::cuDevicePrimaryCtxRetain)>();
  check_call<decltype(ours::CudaDriver::cuCtxSetCurrent), decltype(&::cuCtxSetCurrent)>();
  check_call<decltype(ours::CudaDriver::cuCtxSynchronize), decltype(&::cuCtxSynchronize)>();
  check_call<decltype(ours::CudaDriver::cuCtxGetStreamPriorityRange),
             decltype(&::cuCtxGetStreamPriorityRange)>();
  check_call<decltype(ours::CudaDriver::cuCtxEnablePeerAccess),
             decltype(&::cuCtxEnablePeerAccess)>();
  check_call<decltype(ours::CudaDriver::cuCtxDisablePeerAccess),
             decltype(&::cuCtxDisablePeerAccess)>();
  check_call<decltype(ours::CudaDriver::cuMemGetInfo_v2), decltype(&::cuMemGetInfo_v2)>();
  check_call<decltype(ours::CudaDriver::cuMemAlloc_v2), decltype(&::cuMemAlloc_v2)>();
  check_call<decltype(ours::CudaDriver::cuMemFree_v2), decltype(&::cuMemFree_v2)>();
  check_call<decltype(ours::CudaDriver::cuMemAllocManaged), decltype(&::cuMemAllocManaged)>();
  check_call<decltype(ours::CudaDriver::cuMemHostAlloc), decltype(&::cuMemHostAlloc)>();
  check_call<decltype(ours::CudaDriver::cuMemFreeHost), decltype(&::cuMemFreeHost)>();
  check_call<decltype(ours::CudaDriver::cuMemHostRegister_v2), decltype(&::cuMemHostRegister_v2)>();
  check_call<decltype(ours::CudaDriver::cuMemHostUnregister), decltype(&::cuMemHostUnregister)>();
  check_call<decltype(ours::CudaDriver::cuMemHostGetDevicePointer_v2),
             decltype(&::cuMemHostGetDevicePointer_v2)>();
  check_call<decltype(ours::CudaDriver::cuMemcpyAsync), decltype(&::cuMemcpyAsync)>();
  check_call<decltype(ours::CudaDriver::cuMemcpyPeerAsync), decltype(&::cuMemcpyPeerAsync)>();
  check_call<decltype(ours::CudaDriver::cuMemcpy2DAsync_v2), decltype(&::cuMemcpy2DAsync_v2)>();
  check_call<decltype(ours::CudaDriver::cuMemsetD8Async), decltype(&::cuMemsetD8Async)>();
  check_call<decltype(ours::CudaDriver::cuStreamCreate), decltype(&::cuStreamCreate)>();
  check_call<decltype(ours::CudaDriver::cuStreamCreateWithPriority),
             decltype(&::cuStreamCreateWithPriority)>();
  check_call<decltype(ours::CudaDriver::cuStreamDestroy_v2), decltype(&::cuStreamDestroy_v2)>();
  check_call<decltype(ours::CudaDriver::cuStreamGetCtx), decltype(&::cuStreamGetCtx)>();
  check_call<decltype(ours::CudaDriver::cuStreamQuery), decltype(&::cuStreamQuery)>();
  check_call<decltype(ours::CudaDriver::cuStreamSynchronize), decltype(&::cuStreamSynchronize)>();
  check_call<decltype(ours::CudaDriver::cuStreamWaitEvent), decltype(&::cuStreamWaitEvent)>();
  check_call<decltype(ours::CudaDriver::cuLaunchHostFunc), decltype(&::cuLaunchHostFunc)>();
  check_call<decltype(ours::CudaDriver::cuEventCreate), decltype(&::cuEventCreate)>();
  check_call<decltype(ours::CudaDriver::cuEventDestroy_v2), decltype(&::cuEventDestroy_v2)>();
  check_call<decltype(ours::CudaDriver::cuEventRecord), decltype(&::cuEventRecord)>();
  check_call<decltype(ours::CudaDriver::cuEventQuery), decltype(&::cuEventQuery)>();
  check_call<decltype(ours::CudaDriver::cuEventSynchronize), decltype(&::cuEventSynchronize)>();
  check_call<OurElapsedTime, decltype(&::cuEventElapsedTime)>();
  check_call<decltype(ours::CudaDriver::cuModuleLoadData), decltype(&::cuModuleLoadData)>();
  check_call<decltype(ours::CudaDriver::cuModuleLoadDataEx), decltype(&::cuModuleLoadDataEx)>();
  check_call<decltype(ours::CudaDriver::cuModuleUnload), decltype(&::cuModuleUnload)>();
  check_call<decltype(ours::CudaDriver::cuModuleGetFunction), decltype(&::cuModuleGetFunction)>();
  check_call<decltype(ours::CudaDriver::cuModuleGetGlobal_v2), decltype(&::cuModuleGetGlobal)>();
  check_call<decltype(ours::CudaDriver::cuLaunchKernel), decltype(&::cuLaunchKernel)>();
  check_call<decltype(ours::CudaDriver::cuLaunchKernelEx), decltype(&::cuLaunchKernelEx)>();
  check_call<decltype(ours::CudaDriver::cuFuncGetAttribute), decltype(&::cuFuncGetAttribute)>();
  check_call<decltype(ours::CudaDriver::cuFuncSetAttribute), decltype(&::cuFuncSetAttribute)>();
  check_call<OurBeginCapture, decltype(&::cuStreamBeginCapture)>();
  check_call<decltype(ours::CudaDriver::cuStreamEndCapture), decltype(&::cuStreamEndCapture)>();
#if CUDA_VERSION >= 12000
  check_call<OurInstantiate, decltype(&::cuGraphInstantiate)>();
#endif
  check_call<decltype(ours::CudaDriver::cuGraphLaunch), decltype(&::cuGraphLaunch)>();
  check_call<decltype(ours::CudaDriver::cuGraphExecDestroy), decltype(&::cuGraphExecDestroy)>();
  check_call<decltype(ours::CudaDriver::cuGraphDestroy), decltype(&::cuGraphDestroy)>();
}

constexpr void check_copy_struct() {
  using Ours = ours::CudaMemcpy2D;
  static_assert(sizeof(Ours) == sizeof(::CUDA_MEMCPY2D_v2));
  static_assert(offsetof(Ours, source_x_bytes) == offsetof(::CUDA_MEMCPY2D_v2, srcXInBytes));
  static_assert(offsetof(Ours, source_y) == offsetof(::CUDA_MEMCPY2D_v2, srcY));
  static_assert(offsetof(Ours, source_type) == offsetof(::CUDA_MEMCPY2D_v2, srcMemoryType));
  static_assert(offsetof(Ours, source_host) == offsetof(::CUDA_MEMCPY2D_v2, srcHost));
  static_assert(offsetof(Ours, source_device) == offsetof(::CUDA_MEMCPY2D_v2, srcDevice));
  static_assert(offsetof(Ours, source_array) == offsetof(::CUDA_MEMCPY2D_v2, srcArray));
  static_assert(offsetof(Ours, source_pitch) == offsetof(::CUDA_MEMCPY2D_v2, srcPitch));
  static_assert(offsetof(Ours, destination_x_bytes) == offsetof(::CUDA_MEMCPY2D_v2, dstXInBytes));
  static_assert(offsetof(Ours, destination_y) == offsetof(::CUDA_MEMCPY2D_v2, dstY));
  static_assert(offsetof(Ours, destination_type) == offsetof(::CUDA_MEMCPY2D_v2, dstMemoryType));
  static_assert(offsetof(Ours, destination_host) == offsetof(::CUDA_MEMCPY2D_v2, dstHost));
  static_assert(offsetof(Ours, destination_device) == offsetof(::CUDA_MEMCPY2D_v2, dstDevice));
  static_assert(offsetof(Ours, destination_array) == offsetof(::CUDA_MEMCPY2D_v2, dstArray));
  static_assert(offsetof(Ours, destination_pitch) == offsetof(::CUDA_MEMCPY2D_v2, dstPitch));
  static_assert(offsetof(Ours, width_bytes) == offsetof(::CUDA_MEMCPY2D_v2, WidthInBytes));
  static_assert(offsetof(Ours, height) == offsetof(::CUDA_MEMCPY2D_v2, Height));
}

static_assert(sizeof(ours::CUdeviceptr) == sizeof(::CUdeviceptr));
static_assert(sizeof(ours::CUdevice) == sizeof(::CUdevice));
static_assert(sizeof(ours::CUuuid) == sizeof(::CUuuid));
static_assert(ours::cu_launch_param_end == CU_LAUNCH_PARAM_END_AS_INT);
static_assert(hip::hip_launch_param_buffer_pointer == CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT);
static_assert(hip::hip_launch_param_buffer_size == CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT);

}  // namespace

int main() {
  check_CUresult();
  check_CUdevice_attribute();
  check_CUmemorytype();
  check_shared_numbers();
  check_calls();
  check_copy_struct();
}
