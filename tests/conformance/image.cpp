// SPDX-License-Identifier: MIT
#include "image.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "hip/cpu/kernel_table.hpp"
#include "hip/properties.hpp"
#include "kernel_store/image_table.hpp"
#include "nvidia_image.hpp"
#include "under_test.hpp"

// From the assembly source that kernels/pack.py writes; see kernels/meson.build.
extern "C" {
extern const std::byte conformance_images[];
extern const std::byte conformance_images_end[];
}

namespace hiptool::conformance {
namespace {

std::string arch() {
  const auto names = hip::read_device_names(api(), 0);
  return names ? names->arch : std::string();
}

const void* find_amd_image() {
  static const std::vector<kernel_store::Image> images =
      kernel_store::read_image_table({conformance_images, conformance_images_end});
  const auto chosen = kernel_store::choose_images_of(images, "conformance", Platform::amd, arch());
  return chosen.empty() ? nullptr : kernel_store::unpacked(chosen.front()).bytes.data();
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

std::string reason_for_no_image() {
  return "this build has no image for the device under test, " + arch() + "; its AMD targets: '" +
         HIPTOOL_AMD_TARGETS + "'";
}

bool must_have_image() {
  if (under_test().platform != Platform::amd) return true;
  const std::string full = arch();
  const std::string target = full.substr(0, full.find(':'));  // without features such as :xnack-
  return (" " + std::string(HIPTOOL_AMD_TARGETS) + " ").find(" " + target + " ") !=
         std::string::npos;
}

}  // namespace hiptool::conformance
