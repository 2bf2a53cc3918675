// SPDX-License-Identifier: MIT
#include <array>
#include <cstring>
#include <vector>

#include "memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  // The magic is given, so that no effort goes into finding it; the version is left to the fuzzer.
  std::vector<std::uint8_t> file(bytes, bytes + size);
  constexpr std::array<std::uint8_t, 4> magic{'G', 'G', 'U', 'F'};
  if (size >= magic.size()) std::memcpy(file.data(), magic.data(), magic.size());
  hiptool::fuzz::check_bytes(file.data(), file.size());
  return 0;
}
