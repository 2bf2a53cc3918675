// SPDX-License-Identifier: MIT
/// XXH3-64 compiled for one instruction set each. Their sources may include nothing that has inline
/// functions of external linkage: the linker could take those for the whole program.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace hiptool::base {

uint64_t xxh3_64_avx2(const void* data, size_t size_bytes) noexcept;
uint64_t xxh3_64_avx512(const void* data, size_t size_bytes) noexcept;

}  // namespace hiptool::base
