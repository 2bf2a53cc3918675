// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "hiptool/buffer.hpp"
#include "hiptool/device.hpp"
#include "hiptool/export.hpp"

namespace hiptool {

// Sizes that do not fit 64 bits become the largest number, which no device has: the sums below
// cannot wrap to something that would fit.

/// The size rounded up to the next multiple of 256 bytes, the alignment that HIP and CUDA give an
/// allocation.
HIPTOOL_API std::uint64_t padded_size(std::uint64_t size_bytes) noexcept;

/// What a set of allocations takes on a device.
struct MemoryNeed {
  std::uint64_t requested_bytes = 0;  ///< the plain sum
  std::uint64_t padded_bytes = 0;     ///< the sum of padded sizes
  std::uint64_t margin_bytes = 0;     ///< the larger of 10 % of padded_bytes and 100 MiB
  std::uint64_t total_bytes = 0;      ///< padded_bytes + margin_bytes
};

/// Adds up the sizes of allocations. The margin is for what the runtime and its libraries take
/// beside them. Pure arithmetic.
HIPTOOL_API MemoryNeed memory_need(std::span<const std::uint64_t> sizes_bytes) noexcept;

/// True when the device has this much memory free. Another process may take it a moment later, and
/// a runtime may refuse the very last of it. Throws what Device::memory() throws.
HIPTOOL_API bool can_allocate(const Device& device, std::uint64_t size_bytes);

/// Allocates unless the size is above 70 % of the device's free memory, for programs that share a
/// device with a display or with others. A refusal is Error(out_of_memory) that names the size, the
/// 70 %, the free and the total memory; nothing was allocated then. Other errors as Buffer's.
HIPTOOL_API Buffer allocate_safe(const Device& device, std::size_t size_bytes);

/// The need of a model's tensors. Throws Error(out_of_memory) with its numbers and the shortfall
/// when the total is above the device's free memory. (`check_fit` of load_plan.hpp knows the arena
/// of a load and has a margin of its own.)
HIPTOOL_API MemoryNeed check_model(const Device& device,
                                   std::span<const std::uint64_t> tensor_sizes_bytes);

}  // namespace hiptool
