// SPDX-License-Identifier: MIT
#include <array>

#include "hip/nvidia/calls.hpp"
#include "hip/nvidia/driver.hpp"

namespace hiptool::hip::nvidia {
namespace {

/// HIP's flags above these three are AMD's own kinds of coherence.
constexpr unsigned host_malloc_mask = 7;
constexpr unsigned host_register_mask = 15;

/// An allocation of nothing succeeds with null in HIP and is an error in CUDA.
template <class Entry, class Call>
hipError_t allocate(void** pointer, std::size_t bytes, Entry&& enter, Call&& call) {
  if (pointer == nullptr) return finish(hipErrorInvalidValue);
  *pointer = nullptr;
  if (bytes == 0) return hipSuccess;
  return finish_after(enter(), [&] {
    CUdeviceptr address = 0;
    const CUresult result = call(&address);
    if (result == CUDA_SUCCESS) *pointer = to_pointer(address);
    return result;
  });
}

hipError_t get_info(std::size_t* free_bytes, std::size_t* total_bytes) {
  return finish_after(enter_device(),
                      [=] { return cuda().cuMemGetInfo_v2(free_bytes, total_bytes); });
}

hipError_t malloc_device(void** pointer, std::size_t bytes) {
  return allocate(pointer, bytes, enter_device,
                  [bytes](CUdeviceptr* address) { return cuda().cuMemAlloc_v2(address, bytes); });
}

hipError_t free_device(void* pointer) {
  if (pointer == nullptr) return hipSuccess;
  return finish_after(enter_any_device(),
                      [pointer] { return cuda().cuMemFree_v2(to_address(pointer)); });
}

hipError_t malloc_managed(void** pointer, std::size_t bytes, unsigned flags) {
  if (bytes == 0) return finish(hipErrorInvalidValue);  // unlike the others, in HIP too
  return allocate(pointer, bytes, enter_device, [=](CUdeviceptr* address) {
    return cuda().cuMemAllocManaged(address, bytes, flags);
  });
}

hipError_t malloc_async(void** pointer, std::size_t bytes, hipStream_t stream) {
  return allocate(
      pointer, bytes, [stream] { return enter_stream(stream); },
      [=](CUdeviceptr* address) { return cuda().cuMemAllocAsync(address, bytes, stream); });
}

hipError_t free_async(void* pointer, hipStream_t stream) {
  if (pointer == nullptr) return hipSuccess;
  return finish_after(enter_stream(stream),
                      [=] { return cuda().cuMemFreeAsync(to_address(pointer), stream); });
}

hipError_t malloc_from_pool(void** pointer, std::size_t bytes, hipMemPool_t pool,
                            hipStream_t stream) {
  if (pool == nullptr) return finish(hipErrorInvalidValue);
  return allocate(
      pointer, bytes, [stream] { return enter_stream(stream); },
      [=](CUdeviceptr* address) {
        return cuda().cuMemAllocFromPoolAsync(address, bytes, pool, stream);
      });
}

hipError_t get_default_pool(hipMemPool_t* pool, int ordinal) {
  CUdevice device = 0;
  const hipError_t error = find_device(ordinal, device);
  return finish_after(error, [&] { return cuda().cuDeviceGetDefaultMemPool(pool, device); });
}

hipError_t set_pool_attribute(hipMemPool_t pool, hipMemPoolAttr attribute, void* value) {
  if (pool == nullptr || value == nullptr) return finish(hipErrorInvalidValue);
  return finish(cuda().cuMemPoolSetAttribute(pool, attribute, value));
}

hipError_t trim_pool(hipMemPool_t pool, std::size_t keep_bytes) {
  if (pool == nullptr) return finish(hipErrorInvalidValue);
  return finish(cuda().cuMemPoolTrimTo(pool, keep_bytes));
}

hipError_t malloc_host(void** pointer, std::size_t bytes, unsigned flags) {
  constexpr unsigned contradiction = hipHostMallocCoherent | hipHostMallocNonCoherent;
  if (pointer == nullptr || (flags & contradiction) == contradiction) {
    return finish(hipErrorInvalidValue);
  }
  *pointer = nullptr;
  if (bytes == 0) return hipSuccess;
  return finish_after(enter_device(), [=] {
    return cuda().cuMemHostAlloc(pointer, bytes, flags & host_malloc_mask);
  });
}

hipError_t free_host(void* pointer) {
  if (pointer == nullptr) return hipSuccess;
  return finish_after(enter_any_device(), [pointer] { return cuda().cuMemFreeHost(pointer); });
}

/// A read-only mapping can be registered with the read-only flag only (measured), so the flags
/// reach the driver as they were given.
hipError_t register_host(void* pointer, std::size_t bytes, unsigned flags) {
  if (pointer == nullptr || bytes == 0) return finish(hipErrorInvalidValue);
  return finish_after(enter_device(), [=] {
    return cuda().cuMemHostRegister_v2(pointer, bytes, flags & host_register_mask);
  });
}

hipError_t unregister_host(void* pointer) {
  if (pointer == nullptr) return finish(hipErrorInvalidValue);
  return finish_after(enter_any_device(),
                      [pointer] { return cuda().cuMemHostUnregister(pointer); });
}

hipError_t get_host_device_pointer(void** device_pointer, void* host_pointer, unsigned flags) {
  if (device_pointer == nullptr) return finish(hipErrorInvalidValue);
  return finish_after(enter_device(), [=] {
    CUdeviceptr address = 0;
    const CUresult result = cuda().cuMemHostGetDevicePointer_v2(&address, host_pointer, flags);
    if (result == CUDA_SUCCESS) *device_pointer = to_pointer(address);
    return result;
  });
}

hipError_t get_host_flags(unsigned* flags, void* host_pointer) {
  if (flags == nullptr || host_pointer == nullptr) return finish(hipErrorInvalidValue);
  return finish_after(enter_any_device(),
                      [=] { return cuda().cuMemHostGetFlags(flags, host_pointer); });
}

/// What HIP 7 says of memory it does not know, null included; -2 is its hipInvalidDeviceId.
constexpr hipPointerAttribute_t unregistered{hipMemoryTypeUnregistered, -2, nullptr, nullptr, 0, 0};

int to_memory_type(unsigned cuda_type, bool is_managed) {
  if (is_managed) return hipMemoryTypeManaged;
  switch (cuda_type) {
    case CU_MEMORYTYPE_HOST: return hipMemoryTypeHost;
    case CU_MEMORYTYPE_DEVICE: return hipMemoryTypeDevice;
    case CU_MEMORYTYPE_ARRAY: return 10;    // hipMemoryTypeArray
    case CU_MEMORYTYPE_UNIFIED: return 11;  // hipMemoryTypeUnified
    default: return hipMemoryTypeUnregistered;
  }
}

CUresult query_pointer(hipPointerAttribute_t& attributes, void* pointer) {
  unsigned type = 0;
  unsigned is_managed = 0;
  int ordinal = 0;
  CUdeviceptr device_address = 0;
  void* host_pointer = nullptr;
  std::array names{CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                   CU_POINTER_ATTRIBUTE_HOST_POINTER};
  std::array<void*, names.size()> values{&type, &is_managed, &ordinal, &device_address,
                                         &host_pointer};
  const CUresult result = cuda().cuPointerGetAttributes(
      static_cast<unsigned>(names.size()), names.data(), values.data(), to_address(pointer));
  if (result == CUDA_ERROR_INVALID_VALUE) return CUDA_SUCCESS;  // memory the driver does not know
  if (result != CUDA_SUCCESS || type == 0) return result;
  attributes = {to_memory_type(type, is_managed != 0),
                ordinal,
                to_pointer(device_address),
                host_pointer,
                is_managed != 0 ? 1 : 0,
                0};
  if (attributes.type == hipMemoryTypeHost &&
      cuda().cuMemHostGetFlags(&attributes.allocationFlags, pointer) != CUDA_SUCCESS) {
    attributes.allocationFlags = 0;
  }
  return CUDA_SUCCESS;
}

hipError_t get_pointer_attributes(hipPointerAttribute_t* attributes, const void* pointer) {
  if (attributes == nullptr) return finish(hipErrorInvalidValue);
  *attributes = unregistered;
  if (pointer == nullptr) return hipSuccess;
  return finish_after(enter_any_device(),
                      [=] { return query_pointer(*attributes, const_cast<void*>(pointer)); });
}

hipError_t get_address_range(hipDeviceptr_t* base, std::size_t* bytes, hipDeviceptr_t pointer) {
  return finish_after(enter_any_device(), [=] {
    CUdeviceptr address = 0;
    const CUresult result = cuda().cuMemGetAddressRange_v2(&address, bytes, to_address(pointer));
    if (result == CUDA_SUCCESS && base != nullptr) *base = to_pointer(address);
    return result;
  });
}

}  // namespace

void fill_memory(Api& api) {
  api.hipMemGetInfo = get_info;
  api.hipMalloc = malloc_device;
  api.hipFree = free_device;
  api.hipMallocManaged = malloc_managed;
  api.hipMallocAsync = malloc_async;
  api.hipFreeAsync = free_async;
  api.hipMallocFromPoolAsync = malloc_from_pool;
  api.hipDeviceGetDefaultMemPool = get_default_pool;
  api.hipMemPoolSetAttribute = set_pool_attribute;
  api.hipMemPoolTrimTo = trim_pool;
  api.hipHostMalloc = malloc_host;
  api.hipHostFree = free_host;
  api.hipHostRegister = register_host;
  api.hipHostUnregister = unregister_host;
  api.hipHostGetDevicePointer = get_host_device_pointer;
  api.hipHostGetFlags = get_host_flags;
  api.hipPointerGetAttributes = get_pointer_attributes;
  api.hipMemGetAddressRange = get_address_range;
}

}  // namespace hiptool::hip::nvidia
