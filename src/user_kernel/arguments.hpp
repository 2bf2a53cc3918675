// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "user_kernel/element_value.hpp"
#include "user_kernel/image_info.hpp"

namespace hiptool::user_kernel {

/// One argument of a kernel as the command line gives it.
struct KernelArgument {
  std::string text;  ///< as it was given, for messages
  ElementType type = ElementType::i32;
  bool is_buffer = false;
  bool is_raw = false;           ///< bytes of any type, such as a struct
  bool is_poison = false;        ///< a buffer whose first contents the kernel must not use
  std::uint64_t count = 1;       ///< elements of a buffer
  std::vector<std::byte> bytes;  ///< the value, or the initial contents of the buffer
};

/// The most bytes of all arguments of a kernel (CUDA C++ Programming Guide, "__global__ function
/// parameters": 4 KiB, from Volta on 32764 bytes).
inline constexpr std::size_t most_argument_bytes = 32764;

/// TYPE:VALUE, bytes:HEX for structs (in memory order, blanks and underscores are ignored), or
/// buf:TYPE:COUNT:zeros|iota|value:VALUE|random:SEED|file:PATH|poison. Of a file that is longer
/// than the buffer the first bytes are taken; `bytes` of poison are zeros. Blocks while it reads a
/// file.
///
/// Throws Error(invalid_argument) with the text for another form, a value out of the range of its
/// type, a struct above most_argument_bytes and a buffer without elements; Error(input_failed) for
/// a file that cannot be read or is too short; Error(host_out_of_memory).
KernelArgument parse_kernel_argument(const std::string& text);

/// Compares the given arguments with those that the image or the source declares. Throws
/// Error(invalid_argument) for a different number or size of arguments, a value other than 0 for a
/// pointer, a buffer for a value, and a number or buffer of another type: whole numbers and reals
/// are distinguished, signed and unsigned ones are not. Buffers of 8 bits are bytes of any type,
/// and so is bytes:HEX.
void check_arguments(const std::string& kernel, const std::vector<KernelArgument>& given,
                     const std::vector<ArgumentInfo>& expected);

}  // namespace hiptool::user_kernel
