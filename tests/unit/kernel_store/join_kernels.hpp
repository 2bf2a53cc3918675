// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

/// A value and where it was.
struct Place {
  float value;
  std::uint32_t index;
  friend bool operator==(const Place& a, const Place& b) {
    return a.value == b.value && a.index == b.index;
  }
};

/// Called, so that a linker keeps the kernels of that file.
void keep_join_kernels();
