// SPDX-License-Identifier: MIT
#include "hip/cpu/allocations.hpp"

#include <iterator>

#include "hip/cpu/facts.hpp"
#include "hip/cpu/pages.hpp"

namespace hiptool::hip::cpu {
namespace {

std::uintptr_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

}  // namespace

Allocations& Allocations::instance() {
  static auto* const allocations = new Allocations;
  return *allocations;
}

hipError_t Allocations::create(MemoryUse use, int device, std::size_t bytes, unsigned flags,
                               void** pointer) {
  if (bytes == 0) {
    *pointer = nullptr;
    return hipSuccess;
  }
  const hipError_t error = reserve(bytes);
  if (error != hipSuccess) return error;
  void* const base = acquire_pages(bytes);
  if (base == nullptr) {
    give_back(bytes);
    return hipErrorOutOfMemory;
  }
  try {
    insert({base, bytes, use, device, flags});
  } catch (...) {
    release_pages(base, bytes);
    give_back(bytes);
    throw;
  }
  *pointer = base;
  return hipSuccess;
}

hipError_t Allocations::register_host(void* base, std::size_t bytes, int device, unsigned flags) {
  const std::uintptr_t start = address_of(base);
  if (bytes == 0 || bytes > UINTPTR_MAX - start) return hipErrorInvalidValue;
  const std::lock_guard lock(mutex_);
  const auto next = by_base_.lower_bound(start);
  std::optional<Allocation> overlapped = find_locked(start);
  if (!overlapped && next != by_base_.end() && next->first < start + bytes) {
    overlapped = next->second;
  }
  if (overlapped) {
    return is_device_memory(overlapped->use) ? hipErrorInvalidValue
                                             : hipErrorHostMemoryAlreadyRegistered;
  }
  by_base_.emplace(start, Allocation{base, bytes, MemoryUse::registered, device, flags});
  ++counts_.registered;
  return hipSuccess;
}

std::optional<Allocation> Allocations::find(const void* pointer) const {
  const std::lock_guard lock(mutex_);
  return find_locked(address_of(pointer));
}

std::optional<Allocation> Allocations::find_locked(std::uintptr_t address) const {
  const auto after = by_base_.upper_bound(address);
  if (after == by_base_.begin()) return std::nullopt;
  const auto& [base, allocation] = *std::prev(after);
  if (address - base >= allocation.bytes) return std::nullopt;
  return allocation;
}

std::optional<Allocation> Allocations::take(const void* base, bool (*fits)(MemoryUse)) {
  const std::lock_guard lock(mutex_);
  const auto found = by_base_.find(address_of(base));
  if (found == by_base_.end() || !fits(found->second.use)) return std::nullopt;
  const Allocation allocation = found->second;
  by_base_.erase(found);
  return allocation;
}

void Allocations::release(const Allocation& allocation) {
  const bool is_ours = allocation.use != MemoryUse::registered;
  if (is_ours) release_pages(allocation.base, allocation.bytes);
  const std::lock_guard lock(mutex_);
  if (is_ours) reserved_bytes_ -= allocation.bytes;
  --counter(allocation.use);
}

std::size_t Allocations::reserved_bytes() const {
  const std::lock_guard lock(mutex_);
  return reserved_bytes_;
}

Allocations::Counts Allocations::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

hipError_t Allocations::reserve(std::size_t bytes) {
  const auto facts = current_facts();
  // For small requests, querying the system would cost more than it saves.
  if (bytes >= huge_page_bytes && bytes > available_bytes(*facts)) return hipErrorOutOfMemory;
  const std::lock_guard lock(mutex_);
  if (bytes > facts->memory_bytes || reserved_bytes_ > facts->memory_bytes - bytes) {
    return hipErrorOutOfMemory;
  }
  reserved_bytes_ += bytes;
  return hipSuccess;
}

void Allocations::give_back(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  reserved_bytes_ -= bytes;
}

void Allocations::insert(const Allocation& allocation) {
  const std::lock_guard lock(mutex_);
  by_base_.emplace(address_of(allocation.base), allocation);
  ++counter(allocation.use);
}

std::size_t& Allocations::counter(MemoryUse use) {
  if (is_device_memory(use)) return counts_.device;
  return use == MemoryUse::host ? counts_.host : counts_.registered;
}

}  // namespace hiptool::hip::cpu
