// SPDX-License-Identifier: MIT
#include "core/launch_limits.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "core/call.hpp"

namespace hiptool::core {
namespace {

// Whole words: a launch that is accepted, and most are, builds no text.
constexpr std::array<std::string_view, 3> grid_axes{"grid.x", "grid.y", "grid.z"};
constexpr std::array<std::string_view, 3> block_axes{"block.x", "block.y", "block.z"};
constexpr std::array<std::string_view, 3> thread_axes{
    "grid.x times block.x", "grid.y times block.y", "grid.z times block.z"};

std::uint64_t limit(const Device& device, hip::hipDeviceAttribute_t number) {
  int value = 0;
  const bool is_known =
      query<&hip::Api::hipDeviceGetAttribute>(device, &value, number, device.native_handle());
  return is_known && value > 0 ? static_cast<std::uint64_t>(value) : LaunchLimits::none;
}

std::array<std::uint64_t, 3> sizes(const Dim3& dimensions) {
  return {dimensions.x, dimensions.y, dimensions.z};
}

const char* hint_for(std::string_view what, std::uint64_t value) {
  if (value == 0) return "give 1 for a dimension that is not needed";
  if (what.find("shared memory") != std::string_view::npos) return "use less shared memory";
  return what.starts_with("grid") ? "use a smaller grid, and let each thread compute more elements"
                                  : "use smaller blocks and a larger grid";
}

class Checker {
 public:
  Checker(const Kernel& kernel, const LaunchConfig& config) : kernel_(kernel), config_(config) {}

  // Small, so that it is compiled into its callers: a launch is checked each time.
  void require(bool holds, std::string_view what, std::uint64_t value, std::uint64_t most) const {
    if (!holds) refuse(what, value, most);
  }
  void require_at_most(std::string_view what, std::uint64_t value, std::uint64_t most) const {
    require(value <= most, what, value, most);
  }

 private:
  [[noreturn, gnu::noinline]] void refuse(std::string_view what, std::uint64_t value,
                                          std::uint64_t most) const {
    throw Error(ErrorCode::invalid_argument, "hipModuleLaunchKernel",
                "launch of " + to_text(kernel_, config_) + " on " + kernel_.device().id() + ": " +
                    std::string(what) + " is " + std::to_string(value) + ", " +
                    (value == 0 ? "at least 1 is needed" : "at most " + std::to_string(most)),
                hint_for(what, value));
  }

  const Kernel& kernel_;
  const LaunchConfig& config_;
};

}  // namespace

LaunchLimits read_launch_limits(const Device& device) {
  LaunchLimits limits;
  limits.grid = {limit(device, hip::hipDeviceAttributeMaxGridDimX),
                 limit(device, hip::hipDeviceAttributeMaxGridDimY),
                 limit(device, hip::hipDeviceAttributeMaxGridDimZ)};
  limits.block = {limit(device, hip::hipDeviceAttributeMaxBlockDimX),
                  limit(device, hip::hipDeviceAttributeMaxBlockDimY),
                  limit(device, hip::hipDeviceAttributeMaxBlockDimZ)};
  limits.threads_per_block = limit(device, hip::hipDeviceAttributeMaxThreadsPerBlock);
  limits.shared_bytes = limit(device, hip::hipDeviceAttributeMaxSharedMemoryPerBlock);
  // NVIDIA's devices give more to a launch that requests it, as ours does where needed.
  const std::uint64_t on_request = limit(device, hip::hipDeviceAttributeSharedMemPerBlockOptin);
  if (on_request != LaunchLimits::none) {
    limits.shared_bytes = std::max(limits.shared_bytes, on_request);
  }
  // AMD's dispatch packet counts threads, not blocks, in 32 bits (HIP programming guide).
  if (device.platform() == Platform::amd) {
    limits.threads_per_axis = std::numeric_limits<std::uint32_t>::max();
  }
  return limits;
}

std::string to_text(const Dim3& dimensions) {
  return std::to_string(dimensions.x) + " x " + std::to_string(dimensions.y) + " x " +
         std::to_string(dimensions.z);
}

std::string to_text(const Kernel& kernel, const LaunchConfig& config) {
  return "kernel '" + kernel.name() + "', grid " + to_text(config.grid) + ", block " +
         to_text(config.block) + ", " + std::to_string(config.shared_bytes) +
         " bytes of shared memory";
}

void check_launch(const Kernel& kernel, const LaunchConfig& config, const LaunchLimits& limits) {
  const Checker checker(kernel, config);
  const auto grid = sizes(config.grid);
  const auto block = sizes(config.block);
  for (std::size_t i = 0; i < grid.size(); ++i) {
    checker.require(grid[i] > 0, grid_axes[i], grid[i], limits.grid[i]);
    checker.require(block[i] > 0, block_axes[i], block[i], limits.block[i]);
    checker.require_at_most(grid_axes[i], grid[i], limits.grid[i]);
    checker.require_at_most(block_axes[i], block[i], limits.block[i]);
    checker.require_at_most(thread_axes[i], grid[i] * block[i], limits.threads_per_axis);
  }
  // The product of three 32-bit numbers need not fit 64 bits.
  const std::uint64_t most = LaunchLimits::none;
  std::uint64_t threads = 0;
  if (__builtin_mul_overflow(block[0] * block[1], block[2], &threads)) threads = most;
  checker.require_at_most(
      "the number of threads in a block", threads,
      std::min(limits.threads_per_block, kernel.max_threads_per_block().value_or(most)));
  const std::uint64_t shared_bytes = kernel.static_shared_bytes().value_or(0) + config.shared_bytes;
  checker.require_at_most("the shared memory of a block", shared_bytes, limits.shared_bytes);
}

}  // namespace hiptool::core
