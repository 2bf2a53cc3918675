// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>

#include "hip/cpu/kernel_table.hpp"

namespace hiptool::hip::cpu {

/// Limits of a launch, the least that HIP's devices have; but of shared memory what a block of
/// NVIDIA's sm_90 may ask for (CUDA C++ Programming Guide, compute capabilities), so that kernels
/// which are meant for such a device can be tried here.
inline constexpr unsigned max_threads_per_block = 1024;
inline constexpr unsigned shared_bytes_per_block = 48 * 1024;
inline constexpr unsigned most_shared_bytes_per_block = 227 * 1024;
inline constexpr unsigned max_grid_yz = 65535;

/// Settings of the process: see kernel_table.hpp.
KernelPath kernel_path() noexcept;
unsigned warp_size() noexcept;

}  // namespace hiptool::hip::cpu
