// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>

#include "hip/nvidia/cuda.hpp"

namespace hiptool::hip::nvidia {

/// A launch's `extra` list as CUDA reads it: at most pointer, size and the end marker.
using LaunchList = std::array<void*, 5>;

/// Copies HIP's list with CUDA's end marker. False if it holds anything else than one buffer and
/// one size, in any order, before HIP's end marker.
inline bool translate_launch_list(void* const* extra, LaunchList& list) noexcept {
  bool has_buffer = false;
  bool has_size = false;
  for (std::size_t i = 0; i < list.size(); i += 2) {
    const auto key = reinterpret_cast<std::uintptr_t>(extra[i]);
    if (key == hip_launch_param_end) {
      list[i] = reinterpret_cast<void*>(cu_launch_param_end);
      return true;
    }
    bool& seen = key == hip_launch_param_buffer_pointer ? has_buffer : has_size;
    const bool is_known =
        key == hip_launch_param_buffer_pointer || key == hip_launch_param_buffer_size;
    if (!is_known || seen || i + 1 == list.size()) return false;
    seen = true;
    list[i] = extra[i];
    list[i + 1] = extra[i + 1];
  }
  return false;
}

}  // namespace hiptool::hip::nvidia
