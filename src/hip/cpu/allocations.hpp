// SPDX-License-Identifier: MIT
/// Memory that this platform allocated and memory that was registered with it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "hip/abi.hpp"

namespace hiptool::hip::cpu {

enum class MemoryUse { device, managed, host, registered };

struct Allocation {
  void* base = nullptr;
  std::size_t bytes = 0;
  MemoryUse use = MemoryUse::device;
  int device = 0;  ///< that was current when it was made
  unsigned flags = 0;
};

/// True for memory that hipFree releases.
constexpr bool is_device_memory(MemoryUse use) {
  return use == MemoryUse::device || use == MemoryUse::managed;
}

class Allocations {
 public:
  struct Counts {
    std::size_t device = 0;
    std::size_t host = 0;
    std::size_t registered = 0;
  };

  /// Never destroyed: static objects of the program may free memory at the very end.
  static Allocations& instance();

  /// Allocates; zero bytes succeed with a null pointer. A request for more memory than the
  /// machine has fails here, because the system would grant it and kill the process later.
  hipError_t create(MemoryUse use, int device, std::size_t bytes, unsigned flags, void** pointer);

  hipError_t register_host(void* base, std::size_t bytes, int device, unsigned flags);

  /// The allocation that contains the pointer.
  std::optional<Allocation> find(const void* pointer) const;

  /// Takes the allocation that starts there out of the map, if `fits` accepts its use; its memory
  /// stays until release().
  std::optional<Allocation> take(const void* base, bool (*fits)(MemoryUse));
  void release(const Allocation& allocation);

  std::size_t reserved_bytes() const;
  /// Includes memory taken but not released.
  Counts counts() const;

 private:
  Allocations() = default;
  hipError_t reserve(std::size_t bytes);
  void give_back(std::size_t bytes);
  void insert(const Allocation& allocation);
  std::size_t& counter(MemoryUse use);
  std::optional<Allocation> find_locked(std::uintptr_t address) const;

  mutable std::mutex mutex_;
  std::map<std::uintptr_t, Allocation> by_base_;
  std::size_t reserved_bytes_ = 0;
  Counts counts_;
};

}  // namespace hiptool::hip::cpu
