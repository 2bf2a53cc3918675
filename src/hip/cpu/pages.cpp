// SPDX-License-Identifier: MIT
#include "hip/cpu/pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <limits>
#include <new>

namespace hiptool::hip::cpu {
namespace {

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

}  // namespace

void* acquire_pages(std::size_t bytes) noexcept {
  if (bytes >= huge_page_bytes) return map_aligned(bytes);
  return ::operator new(bytes, small_alignment, std::nothrow);
}

void release_pages(void* base, std::size_t bytes) noexcept {
  if (bytes >= huge_page_bytes) {
    ::munmap(base, rounded_to_page(bytes));
  } else {
    ::operator delete(base, small_alignment);
  }
}

}  // namespace hiptool::hip::cpu
