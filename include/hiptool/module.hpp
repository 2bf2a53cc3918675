// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "hiptool/device.hpp"
#include "hiptool/export.hpp"

namespace hiptool {

namespace core {
struct Access;
struct ModuleState;
}  // namespace core

/// Compiled kernels loaded on a device. Copying a Module shares it; it is unloaded once, on its own
/// device, when the last Module or Kernel of it goes. A failing unload goes to the trace.
class HIPTOOL_API Module {
 public:
  // A move copies, so that a moved-from Module can be used on.
  Module(const Module&) = default;
  Module& operator=(const Module&) = default;

  /// Loads an image: for amd a code object or a bundle of them, for nvidia PTX source, a cubin or a
  /// fat binary, for cpu the one image of the kernels in this process. The bytes are copied and
  /// need not live on; `name` is for messages only. Blocks; on NVIDIA the first load of PTX
  /// compiles it.
  ///
  /// Throws Error(input_failed) for an image of another kind or for another arch, naming both;
  /// Error(corrupt_data) for one that ends too early; Error(unsupported) where the platform has no
  /// modules; else the runtime's error.
  Module(const Device& device, std::span<const std::byte> image, std::string name = {});

  /// Borrows a hipModule_t or CUmodule of the caller, who keeps it loaded and unloads it. Null is
  /// Error(invalid_argument). Does not block.
  [[nodiscard]] static Module borrow_native(const Device& device, void* module,
                                            std::string name = {});

  [[nodiscard]] const Device& device() const noexcept;
  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] void* native_handle() const noexcept;

 private:
  friend struct core::Access;
  explicit Module(std::shared_ptr<const core::ModuleState> state);
  std::shared_ptr<const core::ModuleState> state_;
};

}  // namespace hiptool
