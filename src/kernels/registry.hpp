// SPDX-License-Identifier: MIT
/// Every kernel of hiptool, with what a launch, a bench and a check need to know about it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "hip/cpu/kernel_table.hpp"

namespace hiptool::kernels {

enum class ArgumentType { input, output, u32, u64 };

struct Argument {
  std::string_view name;
  ArgumentType type = ArgumentType::u64;
  std::uint32_t element_bytes = 0;  ///< of what an input or output points at
};

struct KernelEntry {
  std::string_view name;    ///< as it is looked up in a module
  std::string_view source;  ///< stem of its file in kernels/
  std::string_view description;
  std::span<const Argument> arguments;
  /// Bytes read plus written, and arithmetic operations, for so many elements.
  std::uint64_t (*bytes_moved)(std::uint64_t count) = nullptr;
  std::uint64_t (*operations)(std::uint64_t count) = nullptr;
  double tolerance = 0;  ///< largest relative difference from the reference; 0: the same bytes
  /// Does on the host what a launch of any shape does. It also serves launches on the cpu platform.
  hip::cpu::NativeKernel reference = nullptr;
};

std::span<const KernelEntry> entries();

/// The entry, or null.
const KernelEntry* find_entry(std::string_view name) noexcept;

/// Bytes that the argument has as a value.
constexpr std::size_t size_bytes(ArgumentType type) { return type == ArgumentType::u32 ? 4 : 8; }

/// Tells the cpu platform the reference functions. Only the first call does something.
void register_references();

}  // namespace hiptool::kernels
