// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/kernel/element_value.hpp"
#include "measure/kernel/image_info.hpp"

namespace hiptool::measure {

/// One argument of a kernel as the command line gives it.
struct KernelArgument {
  std::string text;  ///< as it was given, for messages
  ElementType type = ElementType::i32;
  bool is_buffer = false;
  std::uint64_t count = 1;       ///< elements of a buffer
  std::vector<std::byte> bytes;  ///< the value, or what the buffer begins with
};

/// TYPE:VALUE or buf:TYPE:COUNT:zeros|iota|random:SEED|file:PATH. A file must hold exactly the
/// buffer's bytes or more, of which the first are taken. Blocks while it reads one.
///
/// Throws Error(invalid_argument) that repeats the text for one that is not of that form, a value
/// that its type cannot hold and a buffer without elements; Error(input_failed) for a file that
/// cannot be read or is too short; Error(host_out_of_memory).
KernelArgument parse_kernel_argument(const std::string& text);

/// Compares what is given with what the image says of its kernel. Throws Error(invalid_argument)
/// for another number of arguments, one of another size, and a value for a pointer (but for 0) or a
/// buffer for a value.
void check_arguments(const std::string& kernel, const std::vector<KernelArgument>& given,
                     const std::vector<ArgumentInfo>& expected);

}  // namespace hiptool::measure
