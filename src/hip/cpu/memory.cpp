// SPDX-License-Identifier: MIT
#include "hip/cpu/memory.hpp"

#include <algorithm>
#include <memory>

#include "hip/cpu/allocations.hpp"
#include "hip/cpu/devices.hpp"
#include "hip/cpu/entry.hpp"
#include "hip/cpu/facts.hpp"
#include "hip/cpu/streams.hpp"
#include "hip/cpu/submission.hpp"

namespace hiptool::hip::cpu {
namespace {

constexpr int no_device = -2;  // hipInvalidDeviceId
constexpr unsigned attach_host = 2;

/// A device's only pool. It keeps nothing back, so it needs no object, only a handle.
constexpr std::uintptr_t first_pool_handle = 0x1000;

hipMemPool_t pool_of(int ordinal) {
  return reinterpret_cast<hipMemPool_t>(first_pool_handle +
                                        16 * static_cast<std::uintptr_t>(ordinal));
}

bool is_pool(hipMemPool_t pool) {
  for (int ordinal = 0; ordinal < known_device_count(); ++ordinal) {
    if (pool == pool_of(ordinal)) return true;
  }
  return false;
}

hipError_t hipMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  const auto facts = current_facts();
  if (free_bytes != nullptr) {
    // Allocated memory that nobody has touched still counts as available to the system.
    const std::size_t reserved = Allocations::instance().reserved_bytes();
    const std::size_t left = facts->memory_bytes - std::min(facts->memory_bytes, reserved);
    *free_bytes = std::min(available_bytes(*facts), left);
  }
  if (total_bytes != nullptr) *total_bytes = facts->memory_bytes;
  return hipSuccess;
}

hipError_t hipMalloc(void** pointer, std::size_t bytes) {
  if (pointer == nullptr) return hipErrorInvalidValue;
  return Allocations::instance().create(MemoryUse::device, current_device(), bytes, 0, pointer);
}

hipError_t hipMallocManaged(void** pointer, std::size_t bytes, unsigned flags) {
  const bool flags_fit = flags == hipMemAttachGlobal || flags == attach_host;
  if (pointer == nullptr || bytes == 0 || !flags_fit) return hipErrorInvalidValue;
  return Allocations::instance().create(MemoryUse::managed, current_device(), bytes, flags,
                                        pointer);
}

hipError_t hipFree(void* pointer) {
  if (pointer == nullptr) return hipSuccess;
  const auto allocation = Allocations::instance().take(pointer, is_device_memory);
  if (!allocation) return hipErrorInvalidValue;
  // HIP 7 does not wait for stream ordered memory. At the end of the process the wait fails, which
  // is no reason to keep the memory.
  if (allocation->use != MemoryUse::stream_ordered) {
    static_cast<void>(wait_for_device(allocation->device));
  }
  Allocations::instance().release(*allocation);
  return hipSuccess;
}

hipError_t hipMallocAsync(void** pointer, std::size_t bytes, hipStream_t stream) {
  if (pointer == nullptr) return hipErrorInvalidValue;
  const auto queue = find_queue(stream);
  if (queue == nullptr) return hipErrorInvalidHandle;
  return Allocations::instance().create(MemoryUse::stream_ordered, queue->traits().device, bytes, 0,
                                        pointer);
}

hipError_t hipMallocFromPoolAsync(void** pointer, std::size_t bytes, hipMemPool_t pool,
                                  hipStream_t stream) {
  if (!is_pool(pool)) return hipErrorInvalidValue;
  return hipMallocAsync(pointer, bytes, stream);
}

hipError_t hipFreeAsync(void* pointer, hipStream_t stream) {
  if (pointer == nullptr) return hipSuccess;
  const auto queue = find_queue(stream);
  if (queue == nullptr) return hipErrorInvalidHandle;
  const auto allocation = Allocations::instance().take(pointer, is_device_memory);
  if (!allocation) return hipErrorInvalidValue;
  const hipError_t error =
      submit(queue, [taken = *allocation] { Allocations::instance().release(taken); });
  if (error != hipSuccess) Allocations::instance().release(*allocation);
  return error;
}

hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t* pool, int ordinal) {
  if (pool == nullptr) return hipErrorInvalidValue;
  if (!is_device(ordinal)) return hipErrorInvalidDevice;
  *pool = pool_of(ordinal);
  return hipSuccess;
}

hipError_t hipMemPoolSetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void* value) {
  if (!is_pool(pool) || value == nullptr) return hipErrorInvalidValue;
  switch (attribute) {
    case hipMemPoolAttrReleaseThreshold:  // a wish to keep memory, which may be ignored
    case hipMemPoolAttrReservedMemHigh:
    case hipMemPoolAttrUsedMemHigh: return hipSuccess;
    default: return hipErrorInvalidValue;
  }
}

hipError_t hipMemPoolTrimTo(hipMemPool_t pool, std::size_t) {
  return is_pool(pool) ? hipSuccess : hipErrorInvalidValue;
}

hipMemoryType type_of(MemoryUse use) {
  if (use == MemoryUse::managed) return hipMemoryTypeManaged;
  return is_device_memory(use) ? hipMemoryTypeDevice : hipMemoryTypeHost;
}

hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* pointer) {
  if (attributes == nullptr) return hipErrorInvalidValue;
  *attributes = {hipMemoryTypeUnregistered, no_device, nullptr, nullptr, 0, 0};
  const auto allocation = Allocations::instance().find(pointer);
  if (!allocation) return hipSuccess;
  const hipMemoryType type = type_of(allocation->use);
  void* const address = const_cast<void*>(pointer);
  attributes->type = type;
  attributes->device = allocation->device;
  attributes->devicePointer = address;
  attributes->hostPointer = type == hipMemoryTypeDevice ? nullptr : address;
  attributes->isManaged = type == hipMemoryTypeManaged ? 1 : 0;
  attributes->allocationFlags = allocation->flags;
  return hipSuccess;
}

hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, std::size_t* bytes, hipDeviceptr_t pointer) {
  if (base == nullptr && bytes == nullptr) return hipErrorInvalidValue;
  const auto allocation = Allocations::instance().find(pointer);
  if (!allocation) return hipErrorNotFound;
  if (base != nullptr) *base = allocation->base;
  if (bytes != nullptr) *bytes = allocation->bytes;
  return hipSuccess;
}

}  // namespace

void add_memory_calls(Api& api) {
  api.hipMemGetInfo = &Entry<&hipMemGetInfo>::call;
  api.hipMalloc = &Entry<&hipMalloc>::call;
  api.hipFree = &Entry<&hipFree>::call;
  api.hipMallocManaged = &Entry<&hipMallocManaged>::call;
  api.hipMallocAsync = &Entry<&hipMallocAsync>::call;
  api.hipFreeAsync = &Entry<&hipFreeAsync>::call;
  api.hipMallocFromPoolAsync = &Entry<&hipMallocFromPoolAsync>::call;
  api.hipDeviceGetDefaultMemPool = &Entry<&hipDeviceGetDefaultMemPool>::call;
  api.hipMemPoolSetAttribute = &Entry<&hipMemPoolSetAttribute>::call;
  api.hipMemPoolTrimTo = &Entry<&hipMemPoolTrimTo>::call;
  api.hipPointerGetAttributes = &Entry<&hipPointerGetAttributes>::call;
  api.hipMemGetAddressRange = &Entry<&hipMemGetAddressRange>::call;
}

}  // namespace hiptool::hip::cpu
