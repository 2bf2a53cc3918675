// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "hip/cpu/kernel_table.hpp"

/// The tables that kernels/value_check.hip reads.
namespace hiptool::kernel_store {

/// How a type stores what can be NaN or infinite, as the kernel has it: `count` values of
/// `value_bytes` in each block, the first at `first`, the others `stride` bytes further each.
struct ValueDescriptor {
  std::uint64_t special = 0;   ///< bits of NaN and infinity...
  std::uint64_t mask = 0;      ///< ...under this mask
  std::uint64_t fraction = 0;  ///< bits that tell NaN from infinity; 0: there is no infinity
  std::uint32_t block_bytes = 0;
  std::uint32_t value_bytes = 0;
  std::uint32_t first = 0;
  std::uint32_t stride = 0;
  std::uint32_t count = 0;
  std::uint32_t is_spread = 0;  ///< four bits in the upper end of each of four u16 (IQ1_M)
};
static_assert(sizeof(ValueDescriptor) == 48, "the kernel has three words and six halves");

/// Whole blocks of one tensor.
struct ValueTile {
  std::uint64_t device_offset = 0;  ///< in the buffer
  std::uint64_t blocks = 0;
  std::uint64_t tensor_offset = 0;  ///< of its first byte
  std::uint32_t result = 0;
  std::uint32_t descriptor = 0;
};
static_assert(sizeof(ValueTile) == 32, "the kernel has three words and two halves");

/// One for each tensor; the kernel adds to the counts and lowers `first_offset`.
struct ValueCounts {
  std::uint64_t nan = 0;
  std::uint64_t infinite = 0;
  std::uint64_t first_offset = std::numeric_limits<std::uint64_t>::max();
};
static_assert(sizeof(ValueCounts) == 24, "the kernel has three words");

/// The descriptor of a model file's type by its name ("Q4_K", "BF16", "F8_E4M3"), or nothing where
/// no value of the type can be NaN or infinite, or the type is not known. GGUF's quantised types
/// have theirs in the scales, as ggml_validate_row_data of ggml checks them; NVFP4 has none,
/// because ggml takes every byte of its scales for a number.
std::optional<ValueDescriptor> find_value_descriptor(std::string_view type_name);

/// Does on the host what a launch of the kernel does, whatever its shape.
void check_values_natively(hip::cpu::Dimensions grid, hip::cpu::Dimensions block,
                           void* const* arguments);

}  // namespace hiptool::kernel_store
