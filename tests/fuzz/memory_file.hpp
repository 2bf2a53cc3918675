// SPDX-License-Identifier: MIT
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "check_model.hpp"

namespace hiptool::fuzz {

/// Checks the bytes as a model by way of a file in memory.
inline void check_bytes(const std::uint8_t* bytes, std::size_t size) {
  static const int descriptor = memfd_create("fuzz", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  if (descriptor < 0 || ftruncate(descriptor, 0) != 0 ||
      pwrite(descriptor, bytes, size, 0) != static_cast<ssize_t>(size)) {
    std::abort();
  }
  check_model(path);
}

}  // namespace hiptool::fuzz
