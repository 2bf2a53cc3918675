// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "hiptool/export.hpp"
#include "hiptool/module.hpp"

namespace hiptool {

/// A function of a module; keeps the module loaded. Cheap to copy.
class HIPTOOL_API Kernel {
 public:
  /// Looks the name up. Throws Error(not_found) naming kernel and module when it is not there. Does
  /// not block on queued work.
  Kernel(Module module, std::string name);

  const std::string& name() const noexcept { return name_; }
  const Module& module() const noexcept { return module_; }
  const Device& device() const noexcept { return module_.device(); }
  /// hipFunction_t or CUfunction.
  void* native_handle() const noexcept { return function_; }

  /// Threads that a block of this kernel may have, from its launch bounds and registers; absent
  /// when the runtime does not say.
  std::optional<std::uint64_t> max_threads_per_block() const noexcept {
    return max_threads_per_block_;
  }
  /// Shared memory of a block that the kernel itself declares; absent when unknown.
  std::optional<std::uint64_t> static_shared_bytes() const noexcept { return static_shared_bytes_; }

 private:
  Module module_;
  std::string name_;
  void* function_ = nullptr;
  std::optional<std::uint64_t> max_threads_per_block_;
  std::optional<std::uint64_t> static_shared_bytes_;
};

}  // namespace hiptool
