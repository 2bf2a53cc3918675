// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "core/image_check.hpp"
#include "kernel_store/images.hpp"

namespace hiptool::test {

/// The header of an ELF object for CUDA, which names no sections.
inline std::string made_cubin() {
  std::string object(
      "\x7f"
      "ELF\2\1\1",
      7);
  object.resize(64, '\0');
  object[18] = static_cast<char>(190);  // EM_CUDA
  return object;
}

inline bool is_cubin(const kernel_store::Image& image) {
  return core::identify_image(image.bytes) == core::ImageKind::nvidia_object;
}

}  // namespace hiptool::test
