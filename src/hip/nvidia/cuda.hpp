// SPDX-License-Identifier: MIT
/// The part of the CUDA driver interface that the nvidia platform uses: our own declarations of its
/// types and numbers (CUDA 13.0 driver API reference), which a contract test compares with the
/// vendor's header. Streams, events, modules and functions are opaque pointers in both
/// interfaces, so CUDA's handles are declared as HIP's: a handle of the table is the driver's own.
#pragma once
#include <cstddef>

#include "hip/abi.hpp"

namespace hiptool::hip::nvidia {

struct CUctx_st;
using CUcontext = CUctx_st*;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUstream = hipStream_t;
using CUevent = hipEvent_t;
using CUmodule = hipModule_t;
using CUfunction = hipFunction_t;
using CUuuid = hipUUID;
using CUgraph = hipGraph_t;
using CUgraphExec = hipGraphExec_t;

/// Numbers are HIP's where both define one, so only those that are acted on have a name here.
enum CUresult : int {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_STUB_LIBRARY = 34,
  CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER = 36,
  CUDA_ERROR_DEVICE_UNAVAILABLE = 46,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_OPERATING_SYSTEM = 304,
  CUDA_ERROR_NOT_SUPPORTED = 801,
  CUDA_ERROR_SYSTEM_NOT_READY = 802,
  CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
  CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804,
  CUDA_ERROR_EXTERNAL_DEVICE = 911,
  CUDA_ERROR_INVALID_CLUSTER_SIZE = 912,
  CUDA_ERROR_KEY_ROTATION = 916,
  CUDA_ERROR_UNKNOWN = 999,
};

enum CUdevice_attribute : int {
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = 3,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = 4,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY = 9,
  CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
  CU_DEVICE_ATTRIBUTE_MAX_PITCH = 11,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12,
  CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT = 17,
  CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
  CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19,
  CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20,
  CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS = 31,
  CU_DEVICE_ATTRIBUTE_ECC_ENABLED = 32,
  CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33,
  CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID = 34,
  CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
  CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
  CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
  CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT = 40,
  CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
  CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID = 50,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED = 78,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
  CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY = 83,
  CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID = 85,
  CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED = 86,
  CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS = 88,
  CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = 89,
  CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = 91,
  CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED = 99,
  CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES = 100,
  CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST = 101,
  CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
  CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,
  CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES = 119,
};

enum CUmemorytype : unsigned {
  CU_MEMORYTYPE_HOST = 1,
  CU_MEMORYTYPE_DEVICE = 2,
  CU_MEMORYTYPE_UNIFIED = 4,
};

/// Same numbers as HIP's.
using CUfunction_attribute = hipFunction_attribute;
using CUjit_option = hipJitOption;
using CUstreamCaptureMode = hipStreamCaptureMode;

/// End marker of cuLaunchKernel's `extra` list (HIP's is 3); pointer and size are 1 and 2 in both.
inline constexpr std::uintptr_t cu_launch_param_end = 0;

/// Of cuLaunchKernelEx (CUlaunchAttribute): an id and a value of 64 bytes, 8 bytes behind it.
enum CudaLaunchAttributeId : unsigned {
  CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6,
};
union CudaLaunchAttributeValue {
  char bytes[64];
  int programmatic_stream_serialization_allowed;
};
struct CudaLaunchAttribute {
  CudaLaunchAttributeId id;
  char padding[8 - sizeof(CudaLaunchAttributeId)];
  CudaLaunchAttributeValue value;
};

/// CUlaunchConfig.
struct CudaLaunch {
  unsigned grid_x;
  unsigned grid_y;
  unsigned grid_z;
  unsigned block_x;
  unsigned block_y;
  unsigned block_z;
  unsigned shared_bytes;
  CUstream stream;
  CudaLaunchAttribute* attributes;
  unsigned attribute_count;
};

struct CUarray_st;

/// Argument of the 2D copies (CUDA_MEMCPY2D_v2).
struct CudaMemcpy2D {
  std::size_t source_x_bytes;
  std::size_t source_y;
  CUmemorytype source_type;
  const void* source_host;
  CUdeviceptr source_device;
  CUarray_st* source_array;
  std::size_t source_pitch;
  std::size_t destination_x_bytes;
  std::size_t destination_y;
  CUmemorytype destination_type;
  void* destination_host;
  CUdeviceptr destination_device;
  CUarray_st* destination_array;
  std::size_t destination_pitch;
  std::size_t width_bytes;
  std::size_t height;
};
static_assert(sizeof(CudaMemcpy2D) == 128);

using CUhostFn = hipHostFn_t;

/// Under unified addressing one number means the same address on host and device.
inline CUdeviceptr to_address(const void* pointer) noexcept {
  return reinterpret_cast<CUdeviceptr>(pointer);
}
inline void* to_pointer(CUdeviceptr address) noexcept { return reinterpret_cast<void*>(address); }

}  // namespace hiptool::hip::nvidia
