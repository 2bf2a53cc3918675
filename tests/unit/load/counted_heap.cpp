// SPDX-License-Identifier: MIT
// The operators that count; those of arrays and those without exceptions come to these.
#include "counted_heap.hpp"

#include <malloc.h>

#include <cstdlib>
#include <new>

using hiptool::test::live_heap_bytes;

namespace {

void* counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  live_heap_bytes += static_cast<std::int64_t>(malloc_usable_size(memory));
  return memory;
}

void release(void* memory) noexcept {
  live_heap_bytes -= static_cast<std::int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(std::malloc(bytes)); }

void* operator new(std::size_t bytes, std::align_val_t alignment) {
  void* memory = nullptr;
  return counted(
      posix_memalign(&memory, static_cast<std::size_t>(alignment), bytes) == 0 ? memory : nullptr);
}

void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
