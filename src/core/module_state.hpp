// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "core/launch_limits.hpp"
#include "hiptool/device.hpp"

namespace hiptool::core {

struct Unmap {
  std::size_t mapped_bytes = 0;
  void operator()(void* address) const noexcept;
};
using ImageMemory = std::unique_ptr<void, Unmap>;

/// A page-aligned copy of an image in anonymous memory, followed by a zero byte. AMD's runtime
/// may open the file that an image's pages were mapped from; these pages come from none. Throws
/// Error(host_out_of_memory).
ImageMemory copy_image(std::span<const std::byte> image);

/// State that the Modules and Kernels of one loaded image share.
struct ModuleState {
  ModuleState(const Device& on, std::string image_name, ImageMemory image);
  ~ModuleState();
  ModuleState(const ModuleState&) = delete;
  ModuleState& operator=(const ModuleState&) = delete;

  Device device;
  std::string name;
  ImageMemory memory;
  LaunchLimits limits;
  bool is_blocking = false;  ///< HIP_LAUNCH_BLOCKING
  void* native = nullptr;
  bool is_owned = false;
};

}  // namespace hiptool::core
