// SPDX-License-Identifier: MIT
/// The file that kernels/pack.py writes, and the rules by which an image is chosen from it.
#pragma once
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "kernel_store/images.hpp"

namespace hiptool::kernel_store {

/// The images of a packed file; they point into it. Throws Error(internal) for another file: it can
/// only be one that the build made wrong.
std::vector<Image> read_image_table(std::span<const std::byte> file);

/// choose_images() over a given list.
std::vector<Image> choose_images_of(std::span<const Image> images, std::string_view source,
                                    Platform platform, std::string_view arch);

}  // namespace hiptool::kernel_store
