// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>

namespace hiptool::hip::cpu {

/// From this size on memory is mapped in huge pages of its own.
inline constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

/// Memory of at least one byte: 256-byte aligned, or 2 MiB aligned and in huge pages from that size
/// on. Null when there is none.
void* acquire_pages(std::size_t bytes) noexcept;

/// Frees memory that acquire_pages returned for the same size.
void release_pages(void* base, std::size_t bytes) noexcept;

}  // namespace hiptool::hip::cpu
