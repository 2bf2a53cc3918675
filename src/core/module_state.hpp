// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "core/launch_limits.hpp"
#include "hiptool/device.hpp"

namespace hiptool::core {

/// A page-aligned copy of an image in anonymous memory, with a zero byte behind it. AMD's runtime
/// looks which file an image's pages were mapped from and may open it; these come from none.
class ImageMemory {
 public:
  ImageMemory() = default;
  /// Throws Error(host_out_of_memory).
  explicit ImageMemory(std::span<const std::byte> image);
  ~ImageMemory();
  ImageMemory(ImageMemory&& other) noexcept;
  ImageMemory& operator=(ImageMemory&&) = delete;

  const void* data() const noexcept { return address_; }

 private:
  void* address_ = nullptr;
  std::size_t mapped_bytes_ = 0;
};

/// What the Modules and Kernels of one loaded image share.
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
