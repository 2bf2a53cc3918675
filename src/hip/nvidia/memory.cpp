// SPDX-License-Identifier: MIT
#include "hip/nvidia/calls.hpp"
#include "hip/nvidia/driver.hpp"

namespace hiptool::hip::nvidia {
namespace {

/// HIP's flags above these three are AMD's own kinds of coherence.
constexpr unsigned host_malloc_mask = 7;
constexpr unsigned host_register_mask = 15;

/// An allocation of nothing succeeds with null in HIP and is an error in CUDA.
template <class Call>
hipError_t allocate(void** pointer, std::size_t bytes, Call&& call) {
  if (pointer == nullptr) return hipErrorInvalidValue;
  *pointer = nullptr;
  if (bytes == 0) return hipSuccess;
  return call_after(enter_device(), [&] {
    CUdeviceptr address = 0;
    const CUresult result = call(&address);
    if (result == CUDA_SUCCESS) *pointer = to_pointer(address);
    return result;
  });
}

hipError_t get_info(std::size_t* free_bytes, std::size_t* total_bytes) {
  return call_after(enter_device(),
                    [=] { return cuda().cuMemGetInfo_v2(free_bytes, total_bytes); });
}

hipError_t malloc_device(void** pointer, std::size_t bytes) {
  return allocate(pointer, bytes,
                  [bytes](CUdeviceptr* address) { return cuda().cuMemAlloc_v2(address, bytes); });
}

hipError_t free_device(void* pointer) {
  if (pointer == nullptr) return hipSuccess;
  return call_after(enter_any_device(),
                    [pointer] { return cuda().cuMemFree_v2(to_address(pointer)); });
}

hipError_t malloc_managed(void** pointer, std::size_t bytes, unsigned flags) {
  if (bytes == 0) return hipErrorInvalidValue;  // unlike the others, in HIP too
  return allocate(pointer, bytes, [=](CUdeviceptr* address) {
    return cuda().cuMemAllocManaged(address, bytes, flags);
  });
}

hipError_t malloc_host(void** pointer, std::size_t bytes, unsigned flags) {
  constexpr unsigned contradiction = hipHostMallocCoherent | hipHostMallocNonCoherent;
  if (pointer == nullptr || (flags & contradiction) == contradiction) {
    return hipErrorInvalidValue;
  }
  *pointer = nullptr;
  if (bytes == 0) return hipSuccess;
  return call_after(enter_device(), [=] {
    return cuda().cuMemHostAlloc(pointer, bytes, flags & host_malloc_mask);
  });
}

hipError_t free_host(void* pointer) {
  if (pointer == nullptr) return hipSuccess;
  return call_after(enter_any_device(), [pointer] { return cuda().cuMemFreeHost(pointer); });
}

/// A read-only mapping can be registered with the read-only flag only (measured), so the flags
/// reach the driver as they were given.
hipError_t register_host(void* pointer, std::size_t bytes, unsigned flags) {
  if (pointer == nullptr || bytes == 0) return hipErrorInvalidValue;
  return call_after(enter_device(), [=] {
    return cuda().cuMemHostRegister_v2(pointer, bytes, flags & host_register_mask);
  });
}

hipError_t unregister_host(void* pointer) {
  if (pointer == nullptr) return hipErrorInvalidValue;
  return call_after(enter_any_device(), [pointer] { return cuda().cuMemHostUnregister(pointer); });
}

hipError_t get_host_device_pointer(void** device_pointer, void* host_pointer, unsigned flags) {
  if (device_pointer == nullptr) return hipErrorInvalidValue;
  return call_after(enter_device(), [=] {
    CUdeviceptr address = 0;
    const CUresult result = cuda().cuMemHostGetDevicePointer_v2(&address, host_pointer, flags);
    if (result == CUDA_SUCCESS) *device_pointer = to_pointer(address);
    return result;
  });
}

}  // namespace

void fill_memory(Api& api) {
  api.hipMemGetInfo = get_info;
  api.hipMalloc = malloc_device;
  api.hipFree = free_device;
  api.hipMallocManaged = malloc_managed;
  api.hipHostMalloc = malloc_host;
  api.hipHostFree = free_host;
  api.hipHostRegister = register_host;
  api.hipHostUnregister = unregister_host;
  api.hipHostGetDevicePointer = get_host_device_pointer;
}

}  // namespace hiptool::hip::nvidia
