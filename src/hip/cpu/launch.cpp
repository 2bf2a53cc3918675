// SPDX-License-Identifier: MIT

#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "hip/cpu/block_runner.hpp"
#include "hip/cpu/calls.hpp"
#include "hip/cpu/entry.hpp"
#include "hip/cpu/grid_workers.hpp"
#include "hip/cpu/kernel_settings.hpp"
#include "hip/cpu/submission.hpp"

namespace hiptool::hip::cpu {
namespace {

struct LaunchFailure {
  std::mutex mutex;
  std::string text;
};

LaunchFailure& launch_failure() {
  static auto* const instance = new LaunchFailure;
  return *instance;
}

/// The values of a launch's arguments in one buffer, as the C ABI lays them out, and where each is.
class ArgumentValues {
 public:
  explicit ArgumentValues(const CpuKernel& kernel) : kernel_(kernel) {
    std::size_t bytes = 0;
    for (const KernelArgument& argument : kernel.arguments) {
      bytes = argument.offset_bytes + argument.size_bytes;
    }
    buffer_.resize(bytes);
    for (const KernelArgument& argument : kernel.arguments) {
      addresses_.push_back(buffer_.data() + argument.offset_bytes);
    }
  }
  ArgumentValues(const ArgumentValues&) = delete;
  ArgumentValues& operator=(const ArgumentValues&) = delete;

  void* const* addresses() const { return addresses_.data(); }

  /// False where an address is missing.
  bool copy_each(void* const* values) {
    for (std::size_t place = 0; place < addresses_.size(); ++place) {
      if (values[place] == nullptr) return false;
      std::memcpy(addresses_[place], values[place], kernel_.arguments[place].size_bytes);
    }
    return true;
  }

  /// False when that is too short.
  bool copy_packed(const void* values, std::size_t bytes) {
    if (bytes < buffer_.size()) return false;
    if (!buffer_.empty()) std::memcpy(buffer_.data(), values, buffer_.size());
    return true;
  }

 private:
  const CpuKernel& kernel_;
  std::vector<std::byte> buffer_;
  std::vector<void*> addresses_;
};

/// HIP's list of keys and values: one buffer and its size, in any order, then the end. A kernel
/// without arguments needs neither.
bool copy_list(ArgumentValues& values, void* const* extra) {
  const void* buffer = nullptr;
  const std::size_t* bytes = nullptr;
  for (;; extra += 2) {
    const auto key = reinterpret_cast<std::uintptr_t>(extra[0]);
    if (key == hip_launch_param_end) break;
    if (key == hip_launch_param_buffer_pointer && buffer == nullptr) {
      buffer = extra[1];
    } else if (key == hip_launch_param_buffer_size && bytes == nullptr) {
      bytes = static_cast<const std::size_t*>(extra[1]);
    } else {
      return false;
    }
  }
  const bool is_whole = buffer != nullptr && bytes != nullptr;
  return values.copy_packed(buffer, is_whole ? *bytes : 0);
}

bool copy_arguments(ArgumentValues& values, const CpuKernel& kernel, void* const* arguments,
                    void* const* extra) {
  if (arguments != nullptr && extra != nullptr) return false;
  if (extra != nullptr) return copy_list(values, extra);
  if (arguments != nullptr) return values.copy_each(arguments);
  return kernel.arguments.empty();
}

hipError_t check_shape(const Dimensions& grid, const Dimensions& block, unsigned shared_bytes) {
  constexpr unsigned max_grid_x = std::numeric_limits<int>::max();
  if (volume(grid) == 0 || block.x == 0 || block.y == 0 || block.z == 0) {
    return hipErrorInvalidValue;
  }
  for (const unsigned side : {block.x, block.y, block.z}) {
    if (side > max_threads_per_block) return hipErrorInvalidConfiguration;
  }
  if (volume(block) > max_threads_per_block) return hipErrorInvalidConfiguration;
  if (grid.x > max_grid_x || grid.y > max_grid_yz || grid.z > max_grid_yz) {
    return hipErrorInvalidValue;
  }
  return shared_bytes > most_shared_bytes_per_block ? hipErrorInvalidValue : hipSuccess;
}

/// On the queue's worker. Empty when all went well.
std::string run_launch(const Launch& launch, NativeKernel native) {
  if (native == nullptr) return GridWorkers::instance().run(launch);
  try {
    native(launch.grid, launch.block, launch.arguments);
  } catch (const std::exception& failure) {
    return "kernel " + std::string(launch.kernel->name) + ", native: " + failure.what();
  }
  return {};
}

void note_failure(Queue& queue, std::string text) {
  {
    const std::lock_guard lock(launch_failure().mutex);
    launch_failure().text = std::move(text);
  }
  queue.note_failure();
}

hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y,
                                 unsigned grid_z, unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned shared_bytes, hipStream_t stream,
                                 void** arguments, void** extra) {
  const CpuKernel* const kernel = find_function(function);
  if (kernel == nullptr) return hipErrorInvalidHandle;
  Launch launch;
  launch.kernel = kernel;
  launch.grid = {grid_x, grid_y, grid_z};
  launch.block = {block_x, block_y, block_z};
  launch.shared_bytes = shared_bytes;
  launch.warp_size = warp_size();
  const hipError_t error = check_shape(launch.grid, launch.block, shared_bytes);
  if (error != hipSuccess) return error;
  const auto values = std::make_shared<ArgumentValues>(*kernel);
  if (!copy_arguments(*values, *kernel, arguments, extra)) return hipErrorInvalidValue;
  const auto queue = find_queue(stream);
  if (queue == nullptr) return hipErrorInvalidHandle;
  launch.arguments = values->addresses();
  const NativeKernel native =
      kernel_path() == KernelPath::native ? find_native(kernel->name) : nullptr;
  // A graph may run it on another stream.
  return submit(queue, [launch, native, values] {
    std::string fault = run_launch(launch, native);
    if (!fault.empty()) note_failure(Queue::current(), std::move(fault));
  });
}

}  // namespace

std::string last_launch_error() {
  const std::lock_guard lock(launch_failure().mutex);
  return launch_failure().text;
}

void add_launch_calls(Api& api) {
  api.hipModuleLaunchKernel = &Entry<&hipModuleLaunchKernel>::call;
}

}  // namespace hiptool::hip::cpu
