// SPDX-License-Identifier: MIT
#include "hip/cpu/allocations.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <iterator>
#include <limits>
#include <new>

#include "hip/cpu/facts.hpp"

namespace hiptool::hip::cpu {
namespace {

/// From this size on memory is mapped in huge pages of its own.
constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

constexpr std::align_val_t small_alignment{256};

std::size_t rounded_to_page(std::size_t bytes) {
  const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

/// Maps more than is needed and unmaps the parts before and after the aligned one.
void* map_aligned(std::size_t bytes) noexcept {
  if (bytes > std::numeric_limits<std::size_t>::max() - 2 * huge_page_bytes) return nullptr;
  const std::size_t kept_bytes = rounded_to_page(bytes);
  const std::size_t mapped_bytes = kept_bytes + huge_page_bytes;
  void* const mapped =
      ::mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  char* const start = static_cast<char*>(mapped);
  const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(mapped) % huge_page_bytes;
  const std::size_t before = misaligned == 0 ? 0 : huge_page_bytes - misaligned;
  if (before != 0) ::munmap(start, before);
  const std::size_t behind = mapped_bytes - before - kept_bytes;
  if (behind != 0) ::munmap(start + before + kept_bytes, behind);
  // Advice only: without huge pages the memory is as good, just slower.
  ::madvise(start + before, kept_bytes, MADV_HUGEPAGE);
  return start + before;
}

// Memory of at least one byte: 256-byte aligned, or 2 MiB aligned and in huge pages from that size
// on. Null when there is none.
void* acquire_pages(std::size_t bytes) noexcept {
  if (bytes >= huge_page_bytes) return map_aligned(bytes);
  return ::operator new(bytes, small_alignment, std::nothrow);
}

// Frees memory that acquire_pages returned for the same size.
void release_pages(void* base, std::size_t bytes) noexcept {
  if (bytes >= huge_page_bytes) {
    ::munmap(base, rounded_to_page(bytes));
  } else {
    ::operator delete(base, small_alignment);
  }
}

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
