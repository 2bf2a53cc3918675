// SPDX-License-Identifier: MIT
#pragma once
#include "hip/cpu/kernel_table.hpp"

/// What the kernels do, written for the host; arguments are addresses of values.
namespace hiptool::kernels::references {

using hip::cpu::Dimensions;

void fill_u32(Dimensions grid, Dimensions block, void* const* arguments);
void copy_16(Dimensions grid, Dimensions block, void* const* arguments);
void copy_1(Dimensions grid, Dimensions block, void* const* arguments);
void pattern_write(Dimensions grid, Dimensions block, void* const* arguments);
void pattern_check(Dimensions grid, Dimensions block, void* const* arguments);
void tensor_digests(Dimensions grid, Dimensions block, void* const* arguments);

}  // namespace hiptool::kernels::references
