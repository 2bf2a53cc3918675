// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>
#include <limits>

#include "hiptool/kernel.hpp"

namespace hiptool::core {

/// The limits of a launch on a device; one that the device does not report is `none`.
struct LaunchLimits {
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

  std::array<std::uint64_t, 3> grid{none, none, none};
  std::array<std::uint64_t, 3> block{none, none, none};
  std::uint64_t threads_per_block = none;
  std::uint64_t shared_bytes = none;
  std::uint64_t threads_per_axis = none;  ///< grid times block
};

LaunchLimits read_launch_limits(const Device& device);

/// "3 x 1 x 1".
std::string to_text(const Dim3& dimensions);

/// "kernel 'fill', grid 4 x 1 x 1, block 256 x 1 x 1, 0 bytes of shared memory".
std::string to_text(const Kernel& kernel, const LaunchConfig& config);

/// Throws Error(invalid_argument) with the numbers for a launch beyond a limit of the device or the
/// kernel.
void check_launch(const Kernel& kernel, const LaunchConfig& config, const LaunchLimits& limits);

}  // namespace hiptool::core
