// SPDX-License-Identifier: MIT
/// Pinned and registered host memory. Nothing is locked: the calls decide whether copies may return
/// before they are done.
#include "hip/cpu/allocations.hpp"
#include "hip/cpu/calls.hpp"
#include "hip/cpu/devices.hpp"
#include "hip/cpu/entry.hpp"
#include "hip/cpu/submission.hpp"

namespace hiptool::hip::cpu {
namespace {

constexpr unsigned host_malloc_uncached = 0x10000000;
constexpr unsigned host_malloc_numa_user = 0x20000000;
constexpr unsigned host_register_uncached = 0x80000000;

constexpr unsigned host_malloc_flags =
    hipHostMallocPortable | hipHostMallocMapped | hipHostMallocWriteCombined |
    hipHostMallocCoherent | hipHostMallocNonCoherent | host_malloc_uncached | host_malloc_numa_user;
constexpr unsigned host_register_flags = hipHostRegisterPortable | hipHostRegisterMapped |
                                         hipHostRegisterIoMemory | hipHostRegisterReadOnly |
                                         host_register_uncached;

bool is_pinned(MemoryUse use) { return use == MemoryUse::host; }

bool is_registered(MemoryUse use) { return use == MemoryUse::registered; }

/// Waits for all devices first: any of them may use the memory, which the caller may unmap next. At
/// the end of the process the wait fails; the memory goes all the same.
hipError_t release(void* pointer, bool (*fits)(MemoryUse), hipError_t unknown) {
  const auto allocation = Allocations::instance().take(pointer, fits);
  if (!allocation) return unknown;
  wait_for_all_devices();
  Allocations::instance().release(*allocation);
  return hipSuccess;
}

hipError_t hipHostMalloc(void** pointer, std::size_t bytes, unsigned flags) {
  constexpr unsigned both = hipHostMallocCoherent | hipHostMallocNonCoherent;
  if (pointer == nullptr || (flags & ~host_malloc_flags) != 0 || (flags & both) == both) {
    return hipErrorInvalidValue;
  }
  return Allocations::instance().create(MemoryUse::host, current_device(), bytes, flags, pointer);
}

hipError_t hipHostFree(void* pointer) {
  return pointer == nullptr ? hipSuccess : release(pointer, is_pinned, hipErrorInvalidValue);
}

hipError_t hipHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
  if (pointer == nullptr || (flags & ~host_register_flags) != 0) return hipErrorInvalidValue;
  return Allocations::instance().register_host(pointer, bytes, current_device(), flags);
}

hipError_t hipHostUnregister(void* pointer) {
  if (pointer == nullptr) return hipErrorInvalidValue;
  return release(pointer, is_registered, hipErrorHostMemoryNotRegistered);
}

hipError_t hipHostGetDevicePointer(void** device_pointer, void* host_pointer, unsigned flags) {
  if (device_pointer == nullptr || flags != 0) return hipErrorInvalidValue;
  const auto allocation = Allocations::instance().find(host_pointer);
  if (!allocation || is_device_memory(allocation->use)) return hipErrorInvalidValue;
  *device_pointer = host_pointer;
  return hipSuccess;
}

}  // namespace

void add_host_memory_calls(Api& api) {
  api.hipHostMalloc = &Entry<&hipHostMalloc>::call;
  api.hipHostFree = &Entry<&hipHostFree>::call;
  api.hipHostRegister = &Entry<&hipHostRegister>::call;
  api.hipHostUnregister = &Entry<&hipHostUnregister>::call;
  api.hipHostGetDevicePointer = &Entry<&hipHostGetDevicePointer>::call;
}

}  // namespace hiptool::hip::cpu
