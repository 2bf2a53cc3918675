// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>

#include "hiptool/buffer.hpp"
#include "hiptool/export.hpp"
#include "hiptool/module.hpp"
#include "hiptool/stream.hpp"

namespace hiptool {

/// A function of a module; keeps the module loaded. Cheap to copy.
class HIPTOOL_API Kernel {
 public:
  /// Looks the name up. Throws Error(not_found) naming kernel and module when it is not there. Does
  /// not block on queued work.
  Kernel(Module module, std::string name);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const Module& module() const noexcept { return module_; }
  [[nodiscard]] const Device& device() const noexcept { return module_.device(); }
  /// hipFunction_t or CUfunction.
  [[nodiscard]] void* native_handle() const noexcept { return function_; }

  /// Threads that a block of this kernel may have, from its launch bounds and registers; absent
  /// when the runtime does not say.
  [[nodiscard]] std::optional<std::uint64_t> max_threads_per_block() const noexcept {
    return max_threads_per_block_;
  }
  /// Shared memory of a block that the kernel itself declares; absent when unknown.
  [[nodiscard]] std::optional<std::uint64_t> static_shared_bytes() const noexcept {
    return static_shared_bytes_;
  }

 private:
  Module module_;
  std::string name_;
  void* function_ = nullptr;
  std::optional<std::uint64_t> max_threads_per_block_;
  std::optional<std::uint64_t> static_shared_bytes_;
};

struct Dim3 {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;
};

/// Shape of a launch: blocks in the grid, threads in a block, dynamic shared memory of a block.
struct LaunchConfig {
  Dim3 grid;
  Dim3 block;
  std::uint32_t shared_bytes = 0;
};

/// Queues a kernel whose arguments are given as addresses of values, in order; the values are read
/// before this returns. Neither the runtimes nor this function can check their count and types.
///
/// Throws Error(invalid_argument) with the numbers when a dimension is zero or above the device's
/// limit, a block has too many threads or too much shared memory, or the stream is on another
/// device; all of that before the runtime is called. The runtime's error is thrown with the
/// kernel's name, grid and block. Does not block, unless HIP_LAUNCH_BLOCKING=1 was set when the
/// module was loaded: then every launch is waited for and its errors are thrown here.
HIPTOOL_API void launch_with_addresses(const Kernel& kernel, const LaunchConfig& config,
                                       const StreamRef& stream, std::span<void* const> arguments);

/// The value that a kernel gets for an argument: of a Buffer its address, of anything else a copy.
inline void* to_kernel_argument(const Buffer& buffer) noexcept { return buffer.address(); }
inline void* to_kernel_argument(std::nullptr_t) noexcept { return nullptr; }
template <class Value>
Value to_kernel_argument(const Value& value) noexcept {
  static_assert(std::is_trivially_copyable_v<Value>, "a kernel argument is copied as bytes");
  return value;
}

/// Queues a kernel with these arguments, which are copied; their types must match the
/// kernel's parameters (std::uint64_t for one of 64 bits, not int). Errors and blocking as
/// launch_with_addresses. The memory of Buffers must live until the kernel is done.
template <class... Arguments>
void launch(const Kernel& kernel, const LaunchConfig& config, const StreamRef& stream,
            const Arguments&... arguments) {
  std::tuple values(to_kernel_argument(arguments)...);
  std::apply(
      [&](auto&... value) {
        const std::array<void*, sizeof...(value)> addresses{static_cast<void*>(&value)...};
        launch_with_addresses(kernel, config, stream, addresses);
      },
      values);
}

}  // namespace hiptool
