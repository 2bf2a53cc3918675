// SPDX-License-Identifier: MIT
#include <algorithm>

#include "hip/cpu/allocations.hpp"
#include "hip/cpu/calls.hpp"
#include "hip/cpu/devices.hpp"
#include "hip/cpu/entry.hpp"
#include "hip/cpu/facts.hpp"
#include "hip/cpu/submission.hpp"

namespace hiptool::hip::cpu {
namespace {

constexpr unsigned attach_host = 2;

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
  // At the end of the process the wait fails; the memory is freed all the same.
  static_cast<void>(wait_for_device(allocation->device));
  Allocations::instance().release(*allocation);
  return hipSuccess;
}

}  // namespace

void add_memory_calls(Api& api) {
  api.hipMemGetInfo = &Entry<&hipMemGetInfo>::call;
  api.hipMalloc = &Entry<&hipMalloc>::call;
  api.hipFree = &Entry<&hipFree>::call;
  api.hipMallocManaged = &Entry<&hipMallocManaged>::call;
}

}  // namespace hiptool::hip::cpu
