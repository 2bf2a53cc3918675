// SPDX-License-Identifier: MIT
#include "memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  hiptool::fuzz::open_model(bytes, size);
  return 0;
}
