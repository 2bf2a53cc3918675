// SPDX-License-Identifier: MIT
#include "memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  hiptool::fuzz::check_bytes(bytes, size);
  return 0;
}
