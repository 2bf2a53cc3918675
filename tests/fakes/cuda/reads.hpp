// SPDX-License-Identifier: MIT
/// What kernels read of weights, in place of a checker of memory on a GPU.
#pragma once
#include <cstddef>
#include <string>

namespace hiptool::fake {

/// Device memory that exists from now on, or no more.
void add_memory(const void* first, std::size_t bytes);
void remove_memory(const void* first);

/// Whether a GPU's kernel would read behind the allocation of its weights: it loads some types
/// by aligned units of 8 or 16 bytes, of which a matrix's last one may not be all there.
bool reads_behind_memory(const std::string& kernel, void** arguments);

}  // namespace hiptool::fake
