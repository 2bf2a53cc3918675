// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <span>
#include <string_view>

#include "hiptool/platform.hpp"

namespace hiptool::core {

/// The format of a kernel image, identified by its bytes.
enum class ImageKind {
  empty,
  unknown,
  amd_object,         ///< ELF for AMDGPU
  amd_bundle,         ///< several code objects in one file
  compressed_bundle,  ///< ROCm 6.2 and later
  ptx,
  nvidia_object,  ///< ELF for CUDA (cubin)
  fatbin,
  other_object,  ///< ELF for another machine
  cpu,
};

ImageKind identify_image(std::span<const std::byte> image) noexcept;

/// "PTX source".
std::string_view describe(ImageKind kind) noexcept;

/// Throws Error(input_failed) for an image that the platform cannot take, and Error(corrupt_data)
/// for one whose own headers reach beyond its end: the runtimes take sizes from those headers and
/// read on. `device_text` is "nvidia:0 (sm_90)", `name` may be empty.
void check_image(std::span<const std::byte> image, Platform platform, std::string_view device_text,
                 std::string_view name);

}  // namespace hiptool::core
