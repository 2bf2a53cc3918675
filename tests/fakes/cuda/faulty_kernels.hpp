// SPDX-License-Identifier: MIT
/// Operations that compute something wrong, named as "KERNEL:FAULT" by FAKE_CUDA_FAULTY_KERNEL:
///   stride   the first operand's outermost stride is one too long (hiptool_binary_TYPE)
///   tail     elements after the last multiple of 8 are left out (hiptool_binary_packed_TYPE)
///   swapped  the operands are exchanged (hiptool_binary_packed_TYPE)
///   nan      the minimum ignores NaN (hiptool_binary_packed_f32)
///   zero     an integer divided by 0 is -1 (hiptool_binary_packed_i32)
///   halves   sums of f16 are rounded to f16 after each addition (hiptool_sum_rows_f16)
///   dropped  device 1 sends chunks without their last 64 bytes (hiptool_exchange_ring)
///   silent   device 1 sends nothing (hiptool_exchange_ring, hiptool_exchange_all)
///   stale    bytes 4160 to 4223 are read as they were two turns before, from turn 3 on
///            (hiptool_coherence_turns)
///   deaf     the kernel never sees the host's turn (hiptool_coherence_turns)
#pragma once
#include <functional>
#include <string>

#include "fakes/cuda/call.hpp"

namespace hiptool::fake {

/// Launches a kernel with arguments; that of the driver, which a fault may call with other ones.
using LaunchKernel = std::function<CUresult(void** arguments)>;

/// Launches the kernel with the fault that the variable names for it, if it does.
CUresult launch_faulty(const std::string& kernel, CUstream stream, unsigned blocks,
                       void** arguments, const LaunchKernel& launch);

}  // namespace hiptool::fake
