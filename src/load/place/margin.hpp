// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace hiptool::load {

/// Room that a device needs beside these bytes for what the runtime itself allocates (contexts of
/// other libraries, kernels, fragmentation): the larger of 5 % and 64 MiB, in host memory none.
std::uint64_t margin_bytes(std::uint64_t size_bytes, bool is_host_memory) noexcept;

/// The most bytes that fit, with their margin, so much free memory; 0 where not even a margin does.
std::uint64_t most_arena_bytes(std::uint64_t free_bytes, bool is_host_memory) noexcept;

}  // namespace hiptool::load
