// SPDX-License-Identifier: MIT
#pragma once
#include "hip/nvidia/cuda.hpp"

namespace hiptool::hip::nvidia {

/// Modules whose kernels wait for the kernels in front of them themselves
/// (kernels/include/hiptool_early.h), so that the device may start them before those have ended.
/// Safe to use from several threads.
void note_function(CUmodule module, CUfunction function);
void forget_functions(CUmodule module);

/// A launch of cuLaunchKernel, as early as its module permits; as any other where the driver has no
/// such launches, and behind a kernel that does not start early: these may write what a kernel
/// reads before it waits, as the weights of products.
CUresult launch_early_or_not(CUfunction function, const CudaLaunch& launch, void** arguments,
                             void** extra);

}  // namespace hiptool::hip::nvidia
