// SPDX-License-Identifier: MIT
/// Our declarations of HIP against the vendor's headers of whatever version is installed; all of it
/// is checked while compiling. Our headers come first: the vendor's flags are macros.
#include "hip/abi.hpp"
#include "hip/amd/runtime.hpp"
#include "hip/api.hpp"
#include "hip/rtc.hpp"

#include "interop/same_abi.hpp"

namespace {

namespace ours = hiptool::hip;

constexpr unsigned our_flags[] = {
    ours::hipStreamDefault,
    ours::hipStreamNonBlocking,
    ours::hipEventDefault,
    ours::hipEventBlockingSync,
    ours::hipEventDisableTiming,
    ours::hipEventInterprocess,
    ours::hipDeviceMallocFinegrained,
    ours::hipHostMallocDefault,
    ours::hipHostMallocPortable,
    ours::hipHostMallocMapped,
    ours::hipHostMallocWriteCombined,
    ours::hipHostMallocCoherent,
    ours::hipHostMallocNonCoherent,
    ours::hipHostRegisterDefault,
    ours::hipHostRegisterPortable,
    ours::hipHostRegisterMapped,
    ours::hipHostRegisterIoMemory,
    ours::hipMemAttachGlobal,
};
constexpr unsigned our_read_only_flag = ours::hipHostRegisterReadOnly;

}  // namespace

#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>
#if HIP_VERSION_MAJOR >= 6
#include <hip/hip_deprecated.h>
#endif

namespace {

constexpr unsigned their_flags[] = {
    hipStreamDefault,           hipStreamNonBlocking,       hipEventDefault,
    hipEventBlockingSync,       hipEventDisableTiming,      hipEventInterprocess,
    hipDeviceMallocFinegrained, hipHostMallocDefault,       hipHostMallocPortable,
    hipHostMallocMapped,        hipHostMallocWriteCombined, hipHostMallocCoherent,
    hipHostMallocNonCoherent,   hipHostRegisterDefault,     hipHostRegisterPortable,
    hipHostRegisterMapped,      hipHostRegisterIoMemory,    hipMemAttachGlobal,
};

consteval bool same_flags() {
  for (std::size_t i = 0; i < std::size(our_flags); ++i) {
    if (our_flags[i] != their_flags[i]) return false;
  }
  return std::size(our_flags) == std::size(their_flags);
}
static_assert(same_flags());

/// Number for number; the compiler's message shows both.
template <int Ours, int Theirs>
constexpr void check_number() {
  static_assert(Ours == Theirs);
}

template <class Ours, class Theirs>
constexpr void check_call() {
  static_assert(hiptool::test::same_abi<Ours, Theirs>());
}

constexpr void check_hipError_t() {
  check_number<ours::hipSuccess, ::hipSuccess>();
  check_number<ours::hipErrorInvalidValue, ::hipErrorInvalidValue>();
  check_number<ours::hipErrorOutOfMemory, ::hipErrorOutOfMemory>();
  check_number<ours::hipErrorNotInitialized, ::hipErrorNotInitialized>();
  check_number<ours::hipErrorDeinitialized, ::hipErrorDeinitialized>();
  check_number<ours::hipErrorInvalidConfiguration, ::hipErrorInvalidConfiguration>();
  check_number<ours::hipErrorInvalidPitchValue, ::hipErrorInvalidPitchValue>();
  check_number<ours::hipErrorInvalidDevicePointer, ::hipErrorInvalidDevicePointer>();
  check_number<ours::hipErrorInvalidMemcpyDirection, ::hipErrorInvalidMemcpyDirection>();
  check_number<ours::hipErrorInsufficientDriver, ::hipErrorInsufficientDriver>();
  check_number<ours::hipErrorNoDevice, ::hipErrorNoDevice>();
  check_number<ours::hipErrorInvalidDevice, ::hipErrorInvalidDevice>();
  check_number<ours::hipErrorInvalidImage, ::hipErrorInvalidImage>();
  check_number<ours::hipErrorInvalidContext, ::hipErrorInvalidContext>();
  check_number<ours::hipErrorNoBinaryForGpu, ::hipErrorNoBinaryForGpu>();
  check_number<ours::hipErrorECCNotCorrectable, ::hipErrorECCNotCorrectable>();
  check_number<ours::hipErrorPeerAccessUnsupported, ::hipErrorPeerAccessUnsupported>();
  check_number<ours::hipErrorInvalidKernelFile, ::hipErrorInvalidKernelFile>();
  check_number<ours::hipErrorInvalidSource, ::hipErrorInvalidSource>();
  check_number<ours::hipErrorFileNotFound, ::hipErrorFileNotFound>();
  check_number<ours::hipErrorSharedObjectSymbolNotFound, ::hipErrorSharedObjectSymbolNotFound>();
  check_number<ours::hipErrorSharedObjectInitFailed, ::hipErrorSharedObjectInitFailed>();
  check_number<ours::hipErrorOperatingSystem, ::hipErrorOperatingSystem>();
  check_number<ours::hipErrorInvalidHandle, ::hipErrorInvalidHandle>();
  check_number<ours::hipErrorIllegalState, ::hipErrorIllegalState>();
  check_number<ours::hipErrorNotFound, ::hipErrorNotFound>();
  check_number<ours::hipErrorNotReady, ::hipErrorNotReady>();
  check_number<ours::hipErrorIllegalAddress, ::hipErrorIllegalAddress>();
  check_number<ours::hipErrorLaunchOutOfResources, ::hipErrorLaunchOutOfResources>();
  check_number<ours::hipErrorLaunchTimeOut, ::hipErrorLaunchTimeOut>();
  check_number<ours::hipErrorPeerAccessAlreadyEnabled, ::hipErrorPeerAccessAlreadyEnabled>();
  check_number<ours::hipErrorPeerAccessNotEnabled, ::hipErrorPeerAccessNotEnabled>();
  check_number<ours::hipErrorContextIsDestroyed, ::hipErrorContextIsDestroyed>();
  check_number<ours::hipErrorAssert, ::hipErrorAssert>();
  check_number<ours::hipErrorHostMemoryAlreadyRegistered, ::hipErrorHostMemoryAlreadyRegistered>();
  check_number<ours::hipErrorHostMemoryNotRegistered, ::hipErrorHostMemoryNotRegistered>();
  check_number<ours::hipErrorLaunchFailure, ::hipErrorLaunchFailure>();
  check_number<ours::hipErrorCooperativeLaunchTooLarge, ::hipErrorCooperativeLaunchTooLarge>();
  check_number<ours::hipErrorNotSupported, ::hipErrorNotSupported>();
  check_number<ours::hipErrorStreamCaptureUnsupported, ::hipErrorStreamCaptureUnsupported>();
  check_number<ours::hipErrorStreamCaptureInvalidated, ::hipErrorStreamCaptureInvalidated>();
  check_number<ours::hipErrorStreamCaptureWrongThread, ::hipErrorStreamCaptureWrongThread>();
  check_number<ours::hipErrorUnknown, ::hipErrorUnknown>();
}

constexpr void check_hipDeviceAttribute_t() {
  check_number<ours::hipDeviceAttributeEccEnabled, ::hipDeviceAttributeEccEnabled>();
  check_number<ours::hipDeviceAttributeAsyncEngineCount, ::hipDeviceAttributeAsyncEngineCount>();
  check_number<ours::hipDeviceAttributeCanMapHostMemory, ::hipDeviceAttributeCanMapHostMemory>();
  check_number<ours::hipDeviceAttributeCanUseHostPointerForRegisteredMem,
               ::hipDeviceAttributeCanUseHostPointerForRegisteredMem>();
  check_number<ours::hipDeviceAttributeClockRate, ::hipDeviceAttributeClockRate>();
  check_number<ours::hipDeviceAttributeComputeMode, ::hipDeviceAttributeComputeMode>();
  check_number<ours::hipDeviceAttributeConcurrentKernels, ::hipDeviceAttributeConcurrentKernels>();
  check_number<ours::hipDeviceAttributeConcurrentManagedAccess,
               ::hipDeviceAttributeConcurrentManagedAccess>();
  check_number<ours::hipDeviceAttributeCooperativeLaunch, ::hipDeviceAttributeCooperativeLaunch>();
  check_number<ours::hipDeviceAttributeDirectManagedMemAccessFromHost,
               ::hipDeviceAttributeDirectManagedMemAccessFromHost>();
  check_number<ours::hipDeviceAttributeHostNativeAtomicSupported,
               ::hipDeviceAttributeHostNativeAtomicSupported>();
  check_number<ours::hipDeviceAttributeIntegrated, ::hipDeviceAttributeIntegrated>();
  check_number<ours::hipDeviceAttributeKernelExecTimeout, ::hipDeviceAttributeKernelExecTimeout>();
  check_number<ours::hipDeviceAttributeL2CacheSize, ::hipDeviceAttributeL2CacheSize>();
  check_number<ours::hipDeviceAttributeComputeCapabilityMajor,
               ::hipDeviceAttributeComputeCapabilityMajor>();
  check_number<ours::hipDeviceAttributeManagedMemory, ::hipDeviceAttributeManagedMemory>();
  check_number<ours::hipDeviceAttributeMaxBlocksPerMultiProcessor,
               ::hipDeviceAttributeMaxBlocksPerMultiProcessor>();
  check_number<ours::hipDeviceAttributeMaxBlockDimX, ::hipDeviceAttributeMaxBlockDimX>();
  check_number<ours::hipDeviceAttributeMaxBlockDimY, ::hipDeviceAttributeMaxBlockDimY>();
  check_number<ours::hipDeviceAttributeMaxBlockDimZ, ::hipDeviceAttributeMaxBlockDimZ>();
  check_number<ours::hipDeviceAttributeMaxGridDimX, ::hipDeviceAttributeMaxGridDimX>();
  check_number<ours::hipDeviceAttributeMaxGridDimY, ::hipDeviceAttributeMaxGridDimY>();
  check_number<ours::hipDeviceAttributeMaxGridDimZ, ::hipDeviceAttributeMaxGridDimZ>();
  check_number<ours::hipDeviceAttributeMaxThreadsPerBlock,
               ::hipDeviceAttributeMaxThreadsPerBlock>();
  check_number<ours::hipDeviceAttributeMaxThreadsPerMultiProcessor,
               ::hipDeviceAttributeMaxThreadsPerMultiProcessor>();
  check_number<ours::hipDeviceAttributeMaxPitch, ::hipDeviceAttributeMaxPitch>();
  check_number<ours::hipDeviceAttributeMemoryBusWidth, ::hipDeviceAttributeMemoryBusWidth>();
  check_number<ours::hipDeviceAttributeMemoryClockRate, ::hipDeviceAttributeMemoryClockRate>();
  check_number<ours::hipDeviceAttributeComputeCapabilityMinor,
               ::hipDeviceAttributeComputeCapabilityMinor>();
  check_number<ours::hipDeviceAttributeMultiGpuBoardGroupID,
               ::hipDeviceAttributeMultiGpuBoardGroupID>();
  check_number<ours::hipDeviceAttributeMultiprocessorCount,
               ::hipDeviceAttributeMultiprocessorCount>();
  check_number<ours::hipDeviceAttributePageableMemoryAccess,
               ::hipDeviceAttributePageableMemoryAccess>();
  check_number<ours::hipDeviceAttributePageableMemoryAccessUsesHostPageTables,
               ::hipDeviceAttributePageableMemoryAccessUsesHostPageTables>();
  check_number<ours::hipDeviceAttributePciBusId, ::hipDeviceAttributePciBusId>();
  check_number<ours::hipDeviceAttributePciDeviceId, ::hipDeviceAttributePciDeviceId>();
  check_number<ours::hipDeviceAttributePciDomainID, ::hipDeviceAttributePciDomainID>();
  check_number<ours::hipDeviceAttributeMaxRegistersPerBlock,
               ::hipDeviceAttributeMaxRegistersPerBlock>();
  check_number<ours::hipDeviceAttributeMaxRegistersPerMultiprocessor,
               ::hipDeviceAttributeMaxRegistersPerMultiprocessor>();
  check_number<ours::hipDeviceAttributeMaxSharedMemoryPerBlock,
               ::hipDeviceAttributeMaxSharedMemoryPerBlock>();
  check_number<ours::hipDeviceAttributeSharedMemPerBlockOptin,
               ::hipDeviceAttributeSharedMemPerBlockOptin>();
  check_number<ours::hipDeviceAttributeSharedMemPerMultiprocessor,
               ::hipDeviceAttributeSharedMemPerMultiprocessor>();
  check_number<ours::hipDeviceAttributeStreamPrioritiesSupported,
               ::hipDeviceAttributeStreamPrioritiesSupported>();
  check_number<ours::hipDeviceAttributeTotalConstantMemory,
               ::hipDeviceAttributeTotalConstantMemory>();
  check_number<ours::hipDeviceAttributeUnifiedAddressing, ::hipDeviceAttributeUnifiedAddressing>();
  check_number<ours::hipDeviceAttributeWarpSize, ::hipDeviceAttributeWarpSize>();
  check_number<ours::hipDeviceAttributeMemoryPoolsSupported,
               ::hipDeviceAttributeMemoryPoolsSupported>();
  check_number<ours::hipDeviceAttributePhysicalMultiProcessorCount,
               ::hipDeviceAttributePhysicalMultiProcessorCount>();
}

constexpr void check_hipMemcpyKind() {
  check_number<ours::hipMemcpyHostToHost, ::hipMemcpyHostToHost>();
  check_number<ours::hipMemcpyHostToDevice, ::hipMemcpyHostToDevice>();
  check_number<ours::hipMemcpyDeviceToHost, ::hipMemcpyDeviceToHost>();
  check_number<ours::hipMemcpyDeviceToDevice, ::hipMemcpyDeviceToDevice>();
  check_number<ours::hipMemcpyDefault, ::hipMemcpyDefault>();
}

constexpr void check_hipFunction_attribute() {
  check_number<ours::HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
               ::HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK>();
  check_number<ours::HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
               ::HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES>();
  check_number<ours::HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, ::HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES>();
  check_number<ours::HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, ::HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES>();
  check_number<ours::HIP_FUNC_ATTRIBUTE_NUM_REGS, ::HIP_FUNC_ATTRIBUTE_NUM_REGS>();
  check_number<ours::HIP_FUNC_ATTRIBUTE_PTX_VERSION, ::HIP_FUNC_ATTRIBUTE_PTX_VERSION>();
  check_number<ours::HIP_FUNC_ATTRIBUTE_BINARY_VERSION, ::HIP_FUNC_ATTRIBUTE_BINARY_VERSION>();
  check_number<ours::HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA, ::HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA>();
  check_number<ours::HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
               ::HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES>();
  check_number<ours::HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
               ::HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT>();
}

constexpr void check_hipStreamCaptureMode() {
  check_number<ours::hipStreamCaptureModeGlobal, ::hipStreamCaptureModeGlobal>();
  check_number<ours::hipStreamCaptureModeThreadLocal, ::hipStreamCaptureModeThreadLocal>();
  check_number<ours::hipStreamCaptureModeRelaxed, ::hipStreamCaptureModeRelaxed>();
}

constexpr void check_hipJitOption() {
  check_number<ours::hipJitOptionMaxRegisters, ::hipJitOptionMaxRegisters>();
}

/// Numbers that came after HIP 5.2; HIP 6.2 has them all.
constexpr void check_newer_numbers() {
#if HIP_VERSION_MAJOR > 6 || (HIP_VERSION_MAJOR == 6 && HIP_VERSION_MINOR >= 2)
  check_number<static_cast<int>(our_read_only_flag), hipHostRegisterReadOnly>();
  check_number<ours::hipDeviceAttributeVirtualMemoryManagementSupported,
               ::hipDeviceAttributeVirtualMemoryManagementSupported>();
  check_number<ours::hipDeviceAttributeHostRegisterSupported,
               ::hipDeviceAttributeHostRegisterSupported>();
  check_number<ours::hipDeviceAttributeMemoryPoolSupportedHandleTypes,
               ::hipDeviceAttributeMemoryPoolSupportedHandleTypes>();
#else
  static_cast<void>(our_read_only_flag);
#endif
}

constexpr void check_calls() {
  check_call<decltype(ours::Api::hipInit), decltype(&::hipInit)>();
  check_call<decltype(ours::Api::hipRuntimeGetVersion), decltype(&::hipRuntimeGetVersion)>();
  check_call<decltype(ours::Api::hipDriverGetVersion), decltype(&::hipDriverGetVersion)>();
  check_call<decltype(ours::Api::hipGetErrorName), decltype(&::hipGetErrorName)>();
  check_call<decltype(ours::Api::hipGetErrorString), decltype(&::hipGetErrorString)>();
  check_call<decltype(ours::Api::hipGetDeviceCount), decltype(&::hipGetDeviceCount)>();
  check_call<decltype(ours::Api::hipGetDevice), decltype(&::hipGetDevice)>();
  check_call<decltype(ours::Api::hipSetDevice), decltype(&::hipSetDevice)>();
  check_call<decltype(ours::Api::hipDeviceSynchronize), decltype(&::hipDeviceSynchronize)>();
  check_call<decltype(ours::Api::hipDeviceGetName), decltype(&::hipDeviceGetName)>();
  check_call<decltype(ours::Api::hipDeviceGetUuid), decltype(&::hipDeviceGetUuid)>();
  check_call<decltype(ours::Api::hipDeviceTotalMem), decltype(&::hipDeviceTotalMem)>();
  check_call<decltype(ours::Api::hipDeviceGetAttribute), decltype(&::hipDeviceGetAttribute)>();
  check_call<decltype(ours::Api::hipDeviceGetPCIBusId), decltype(&::hipDeviceGetPCIBusId)>();
  check_call<decltype(ours::Api::hipDeviceCanAccessPeer), decltype(&::hipDeviceCanAccessPeer)>();
  check_call<decltype(ours::Api::hipDeviceEnablePeerAccess),
             decltype(&::hipDeviceEnablePeerAccess)>();
  check_call<decltype(ours::Api::hipDeviceDisablePeerAccess),
             decltype(&::hipDeviceDisablePeerAccess)>();
  check_call<decltype(ours::Api::hipMemGetInfo), decltype(&::hipMemGetInfo)>();
  check_call<decltype(ours::Api::hipMalloc), decltype(&::hipMalloc)>();
  check_call<decltype(ours::Api::hipFree), decltype(&::hipFree)>();
  check_call<decltype(ours::Api::hipMallocManaged), decltype(&::hipMallocManaged)>();
  check_call<decltype(ours::Api::hipHostMalloc), decltype(&::hipHostMalloc)>();
  check_call<decltype(ours::Api::hipHostFree), decltype(&::hipHostFree)>();
  check_call<decltype(ours::Api::hipHostRegister), decltype(&::hipHostRegister)>();
  check_call<decltype(ours::Api::hipHostUnregister), decltype(&::hipHostUnregister)>();
  check_call<decltype(ours::Api::hipHostGetDevicePointer), decltype(&::hipHostGetDevicePointer)>();
  check_call<decltype(ours::Api::hipMemcpyAsync), decltype(&::hipMemcpyAsync)>();
  check_call<decltype(ours::Api::hipMemcpyPeerAsync), decltype(&::hipMemcpyPeerAsync)>();
  check_call<decltype(ours::Api::hipMemcpy2DAsync), decltype(&::hipMemcpy2DAsync)>();
  check_call<decltype(ours::Api::hipMemsetAsync), decltype(&::hipMemsetAsync)>();
  check_call<decltype(ours::Api::hipStreamCreateWithFlags),
             decltype(&::hipStreamCreateWithFlags)>();
  check_call<decltype(ours::Api::hipStreamCreateWithPriority),
             decltype(&::hipStreamCreateWithPriority)>();
  check_call<decltype(ours::Api::hipDeviceGetStreamPriorityRange),
             decltype(&::hipDeviceGetStreamPriorityRange)>();
  check_call<decltype(ours::Api::hipStreamDestroy), decltype(&::hipStreamDestroy)>();
  check_call<decltype(ours::Api::hipStreamQuery), decltype(&::hipStreamQuery)>();
  check_call<decltype(ours::Api::hipStreamSynchronize), decltype(&::hipStreamSynchronize)>();
  check_call<decltype(ours::Api::hipStreamWaitEvent), decltype(&::hipStreamWaitEvent)>();
  check_call<decltype(ours::Api::hipLaunchHostFunc), decltype(&::hipLaunchHostFunc)>();
  check_call<ours::amd::StreamAddCallback, decltype(&::hipStreamAddCallback)>();
  check_call<decltype(ours::Api::hipEventCreateWithFlags), decltype(&::hipEventCreateWithFlags)>();
  check_call<decltype(ours::Api::hipEventDestroy), decltype(&::hipEventDestroy)>();
  check_call<decltype(ours::Api::hipEventRecord), decltype(&::hipEventRecord)>();
  check_call<decltype(ours::Api::hipEventQuery), decltype(&::hipEventQuery)>();
  check_call<decltype(ours::Api::hipEventSynchronize), decltype(&::hipEventSynchronize)>();
  check_call<decltype(ours::Api::hipEventElapsedTime), decltype(&::hipEventElapsedTime)>();
  check_call<decltype(ours::Api::hipModuleLoadData), decltype(&::hipModuleLoadData)>();
  check_call<decltype(ours::Api::hipModuleLoadDataEx), decltype(&::hipModuleLoadDataEx)>();
  check_call<decltype(ours::Api::hipModuleUnload), decltype(&::hipModuleUnload)>();
  check_call<decltype(ours::Api::hipModuleGetFunction), decltype(&::hipModuleGetFunction)>();
  check_call<decltype(ours::Api::hipModuleLaunchKernel), decltype(&::hipModuleLaunchKernel)>();
  check_call<decltype(ours::Api::hipFuncGetAttribute), decltype(&::hipFuncGetAttribute)>();
  check_call<decltype(ours::Api::hipStreamBeginCapture), decltype(&::hipStreamBeginCapture)>();
  check_call<decltype(ours::Api::hipStreamEndCapture), decltype(&::hipStreamEndCapture)>();
  check_call<decltype(ours::Api::hipGraphInstantiateWithFlags),
             decltype(&::hipGraphInstantiateWithFlags)>();
  check_call<decltype(ours::Api::hipGraphLaunch), decltype(&::hipGraphLaunch)>();
  check_call<decltype(ours::Api::hipGraphExecDestroy), decltype(&::hipGraphExecDestroy)>();
  check_call<decltype(ours::Api::hipGraphDestroy), decltype(&::hipGraphDestroy)>();
#if HIP_VERSION_MAJOR < 6
  check_call<decltype(ours::Api::hipGetDevicePropertiesR0000),
             decltype(&::hipGetDeviceProperties)>();
#else
  check_call<decltype(ours::Api::hipGetDevicePropertiesR0600),
             decltype(&::hipGetDevicePropertiesR0600)>();
#endif
}

constexpr void check_rtc_calls() {
  check_call<decltype(ours::RtcApi::create), decltype(&::hiprtcCreateProgram)>();
  check_call<decltype(ours::RtcApi::get_log_size), decltype(&::hiprtcGetProgramLogSize)>();
  check_call<decltype(ours::RtcApi::get_log), decltype(&::hiprtcGetProgramLog)>();
  check_call<decltype(ours::RtcApi::get_code_size), decltype(&::hiprtcGetCodeSize)>();
  check_call<decltype(ours::RtcApi::get_code), decltype(&::hiprtcGetCode)>();
  check_call<decltype(ours::RtcApi::destroy), decltype(&::hiprtcDestroyProgram)>();
  check_call<decltype(ours::RtcApi::error_text), decltype(&::hiprtcGetErrorString)>();
  check_call<decltype(ours::RtcApi::compile), decltype(&::hiprtcCompileProgram)>();
  check_number<0, ::HIPRTC_SUCCESS>();
}

/// HIP 6 and later have both layouts, the old one under a name of its own.
template <class Properties, const ours::PropertyLayout& layout>
constexpr void check_properties() {
  static_assert(sizeof(Properties) == layout.size_bytes);
  static_assert(offsetof(Properties, name) == layout.name_offset);
  static_assert(offsetof(Properties, totalGlobalMem) == layout.total_global_mem_offset);
  static_assert(offsetof(Properties, warpSize) == layout.warp_size_offset);
  static_assert(offsetof(Properties, gcnArchName) == layout.gcn_arch_name_offset);
  static_assert(sizeof(Properties::name) == ours::property_name_bytes);
  static_assert(sizeof(Properties::gcnArchName) == ours::property_name_bytes);
  static_assert(sizeof(Properties) <= ours::property_buffer_bytes);
}

constexpr void check_property_layouts() {
#if HIP_VERSION_MAJOR < 6
  check_properties<hipDeviceProp_t, ours::property_layout_r0000>();
#else
  check_properties<hipDeviceProp_tR0000, ours::property_layout_r0000>();
  check_call<decltype(ours::Api::hipGetDevicePropertiesR0000),
             decltype(&::hipGetDevicePropertiesR0000)>();
  check_properties<hipDeviceProp_tR0600, ours::property_layout_r0600>();
#endif
}

static_assert(sizeof(ours::hipUUID) == sizeof(::hipUUID));

/// The pseudo pointers are made by casts, which no constant expression may hold.
bool same_launch_markers() {
  return reinterpret_cast<std::uintptr_t>(HIP_LAUNCH_PARAM_BUFFER_POINTER) ==
             ours::hip_launch_param_buffer_pointer &&
         reinterpret_cast<std::uintptr_t>(HIP_LAUNCH_PARAM_BUFFER_SIZE) ==
             ours::hip_launch_param_buffer_size &&
         reinterpret_cast<std::uintptr_t>(HIP_LAUNCH_PARAM_END) == ours::hip_launch_param_end;
}

}  // namespace

int main() {
  check_hipError_t();
  check_hipDeviceAttribute_t();
  check_hipMemcpyKind();
  check_hipFunction_attribute();
  check_hipStreamCaptureMode();
  check_hipJitOption();
  check_newer_numbers();
  check_calls();
  check_rtc_calls();
  check_property_layouts();
  return same_launch_markers() ? 0 : 1;
}
