// SPDX-License-Identifier: MIT
/// HIP's handles, numbers and layouts under HIP's own names, as far as the table needs them.
/// Source: the public headers of HIP 5.0 to 7.2; a contract test compares each with the real ones.
#pragma once
#include <cstddef>
#include <cstdint>

namespace hiptool::hip {

struct ihipStream_t;
struct ihipEvent_t;
struct ihipModule_t;
struct ihipModuleSymbol_t;
struct ihipGraph;
struct hipGraphExec;
using hipStream_t = ihipStream_t*;
using hipEvent_t = ihipEvent_t*;
using hipModule_t = ihipModule_t*;
using hipFunction_t = ihipModuleSymbol_t*;
using hipGraph_t = ihipGraph*;
using hipGraphExec_t = hipGraphExec*;
using hipDevice_t = int;

/// Error numbers, the same from 5.0 to 7.2 and the same as CUresult where both define one (except
/// 911, 912 and 916).
enum hipError_t : int {
  hipSuccess = 0,
  hipErrorInvalidValue = 1,
  hipErrorOutOfMemory = 2,
  hipErrorNotInitialized = 3,
  hipErrorDeinitialized = 4,
  hipErrorInvalidConfiguration = 9,
  hipErrorInvalidPitchValue = 12,
  hipErrorInvalidDevicePointer = 17,
  hipErrorInvalidMemcpyDirection = 21,
  hipErrorInsufficientDriver = 35,
  hipErrorNoDevice = 100,
  hipErrorInvalidDevice = 101,
  hipErrorInvalidImage = 200,
  hipErrorInvalidContext = 201,
  hipErrorNoBinaryForGpu = 209,
  hipErrorECCNotCorrectable = 214,
  hipErrorPeerAccessUnsupported = 217,
  hipErrorInvalidKernelFile = 218,
  hipErrorInvalidSource = 300,
  hipErrorFileNotFound = 301,
  hipErrorSharedObjectSymbolNotFound = 302,
  hipErrorSharedObjectInitFailed = 303,
  hipErrorOperatingSystem = 304,
  hipErrorInvalidHandle = 400,
  hipErrorIllegalState = 401,
  hipErrorNotFound = 500,
  hipErrorNotReady = 600,
  hipErrorIllegalAddress = 700,
  hipErrorLaunchOutOfResources = 701,
  hipErrorLaunchTimeOut = 702,
  hipErrorPeerAccessAlreadyEnabled = 704,
  hipErrorPeerAccessNotEnabled = 705,
  hipErrorContextIsDestroyed = 709,
  hipErrorAssert = 710,
  hipErrorHostMemoryAlreadyRegistered = 712,
  hipErrorHostMemoryNotRegistered = 713,
  hipErrorLaunchFailure = 719,
  hipErrorCooperativeLaunchTooLarge = 720,
  hipErrorNotSupported = 801,
  hipErrorStreamCaptureUnsupported = 900,
  hipErrorStreamCaptureInvalidated = 901,
  hipErrorStreamCaptureWrongThread = 908,
  hipErrorUnknown = 999,
};

/// Attribute numbers, the same from 5.0 to 7.2.
enum hipDeviceAttribute_t : int {
  hipDeviceAttributeEccEnabled = 0,
  hipDeviceAttributeAsyncEngineCount = 2,
  hipDeviceAttributeCanMapHostMemory = 3,
  hipDeviceAttributeCanUseHostPointerForRegisteredMem = 4,
  hipDeviceAttributeClockRate = 5,
  hipDeviceAttributeComputeMode = 6,
  hipDeviceAttributeConcurrentKernels = 8,
  hipDeviceAttributeConcurrentManagedAccess = 9,
  hipDeviceAttributeCooperativeLaunch = 10,
  hipDeviceAttributeDirectManagedMemAccessFromHost = 13,
  hipDeviceAttributeHostNativeAtomicSupported = 15,
  hipDeviceAttributeIntegrated = 16,
  hipDeviceAttributeKernelExecTimeout = 18,
  hipDeviceAttributeL2CacheSize = 19,
  hipDeviceAttributeComputeCapabilityMajor = 23,
  hipDeviceAttributeManagedMemory = 24,
  hipDeviceAttributeMaxBlocksPerMultiProcessor = 25,
  hipDeviceAttributeMaxBlockDimX = 26,
  hipDeviceAttributeMaxBlockDimY = 27,
  hipDeviceAttributeMaxBlockDimZ = 28,
  hipDeviceAttributeMaxGridDimX = 29,
  hipDeviceAttributeMaxGridDimY = 30,
  hipDeviceAttributeMaxGridDimZ = 31,
  hipDeviceAttributeMaxThreadsPerBlock = 56,
  hipDeviceAttributeMaxThreadsPerMultiProcessor = 57,
  hipDeviceAttributeMaxPitch = 58,
  hipDeviceAttributeMemoryBusWidth = 59,
  hipDeviceAttributeMemoryClockRate = 60,
  hipDeviceAttributeComputeCapabilityMinor = 61,
  hipDeviceAttributeMultiGpuBoardGroupID = 62,
  hipDeviceAttributeMultiprocessorCount = 63,
  hipDeviceAttributePageableMemoryAccess = 65,
  hipDeviceAttributePageableMemoryAccessUsesHostPageTables = 66,
  hipDeviceAttributePciBusId = 67,
  hipDeviceAttributePciDeviceId = 68,
  hipDeviceAttributePciDomainID = 69,
  hipDeviceAttributeMaxRegistersPerBlock = 71,
  hipDeviceAttributeMaxRegistersPerMultiprocessor = 72,
  hipDeviceAttributeMaxSharedMemoryPerBlock = 74,
  hipDeviceAttributeSharedMemPerBlockOptin = 75,
  hipDeviceAttributeSharedMemPerMultiprocessor = 76,
  hipDeviceAttributeStreamPrioritiesSupported = 78,
  hipDeviceAttributeTotalConstantMemory = 83,
  hipDeviceAttributeUnifiedAddressing = 85,
  hipDeviceAttributeWarpSize = 87,
  hipDeviceAttributeMemoryPoolsSupported = 88,
  hipDeviceAttributeVirtualMemoryManagementSupported = 89,
  hipDeviceAttributeHostRegisterSupported = 90,
  hipDeviceAttributeMemoryPoolSupportedHandleTypes = 91,
  hipDeviceAttributePhysicalMultiProcessorCount = 10015,
};

enum hipMemcpyKind : int {
  hipMemcpyHostToHost = 0,
  hipMemcpyHostToDevice = 1,
  hipMemcpyDeviceToHost = 2,
  hipMemcpyDeviceToDevice = 3,
  hipMemcpyDefault = 4,
};

enum hipFunction_attribute : int {
  HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2,
  HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  HIP_FUNC_ATTRIBUTE_NUM_REGS = 4,
  HIP_FUNC_ATTRIBUTE_PTX_VERSION = 5,
  HIP_FUNC_ATTRIBUTE_BINARY_VERSION = 6,
  HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA = 7,
  HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9,
};

/// Which calls are refused while a stream records: of all threads, of the recording one, or none.
enum hipStreamCaptureMode : int {
  hipStreamCaptureModeGlobal = 0,
  hipStreamCaptureModeThreadLocal = 1,
  hipStreamCaptureModeRelaxed = 2,
};

enum hipJitOption : int {
  hipJitOptionMaxRegisters = 0,
};

inline constexpr unsigned hipStreamDefault = 0;
inline constexpr unsigned hipStreamNonBlocking = 1;
inline constexpr unsigned hipEventDefault = 0;
inline constexpr unsigned hipEventBlockingSync = 1;
inline constexpr unsigned hipEventDisableTiming = 2;
inline constexpr unsigned hipEventInterprocess = 4;
inline constexpr unsigned hipDeviceMallocFinegrained = 1;
inline constexpr unsigned hipDeviceMallocUncached = 3;
inline constexpr unsigned hipHostMallocDefault = 0;
inline constexpr unsigned hipHostMallocPortable = 1;
inline constexpr unsigned hipHostMallocMapped = 2;
inline constexpr unsigned hipHostMallocWriteCombined = 4;
inline constexpr unsigned hipHostMallocCoherent = 0x40000000;
inline constexpr unsigned hipHostMallocNonCoherent = 0x80000000;
inline constexpr unsigned hipHostRegisterDefault = 0;
inline constexpr unsigned hipHostRegisterPortable = 1;
inline constexpr unsigned hipHostRegisterMapped = 2;
inline constexpr unsigned hipHostRegisterIoMemory = 4;
inline constexpr unsigned hipHostRegisterReadOnly = 8;
inline constexpr unsigned hipMemAttachGlobal = 1;

/// Pseudo pointers of the `extra` argument of hipModuleLaunchKernel: pointer, size, end. They are
/// numbers here because a pointer made from a number is not a constant expression.
inline constexpr std::uintptr_t hip_launch_param_buffer_pointer = 1;
inline constexpr std::uintptr_t hip_launch_param_buffer_size = 2;
inline constexpr std::uintptr_t hip_launch_param_end = 3;

struct hipUUID {
  char bytes[16];
};

/// The property struct is read by offset; only name and gcnArchName are taken from it, all else by
/// attribute. Both layouts start with the name (256 bytes).
struct PropertyLayout {
  std::size_t size_bytes;
  std::size_t name_offset;
  std::size_t total_global_mem_offset;
  std::size_t warp_size_offset;
  std::size_t gcn_arch_name_offset;
};
inline constexpr PropertyLayout property_layout_r0000{792, 0, 256, 276, 396};
inline constexpr PropertyLayout property_layout_r0600{1472, 0, 288, 308, 1160};
inline constexpr std::size_t property_name_bytes = 256;
/// Callers hand in a zeroed, 8-byte aligned buffer of this size: larger than any known layout.
inline constexpr std::size_t property_buffer_bytes = 4096;

using hipHostFn_t = void (*)(void* user_data);
using hipStreamCallback_t = void (*)(hipStream_t stream, hipError_t status, void* user_data);

}  // namespace hiptool::hip
