// SPDX-License-Identifier: MIT
#include "image.hpp"

#include <cstddef>
#include <vector>

#include "hip/cpu/kernel_table.hpp"
#include "hip/properties.hpp"
#include "kernels/image_table.hpp"
#include "nvidia_image.hpp"
#include "under_test.hpp"

// From the assembly source that kernels/pack.py writes; see kernels/meson.build.
extern "C" {
extern const std::byte conformance_images[];
extern const std::byte conformance_images_end[];
}

namespace hiptool::conformance {
namespace {

const void* find_amd_image() {
  const auto names = hip::read_device_names(api(), 0);
  if (!names) return nullptr;
  static const std::vector<kernels::Image> images =
      kernels::read_image_table({conformance_images, conformance_images_end});
  const auto chosen = kernels::choose_images_of(images, "conformance", Platform::amd, names->arch);
  return chosen.empty() ? nullptr : chosen.front().bytes.data();
}

}  // namespace

const void* find_image() {
  switch (under_test().platform) {
    case Platform::amd: return find_amd_image();
    case Platform::nvidia: return nvidia_image;
    case Platform::cpu: return hip::cpu::cpu_image.data();
  }
  return nullptr;
}

}  // namespace hiptool::conformance
