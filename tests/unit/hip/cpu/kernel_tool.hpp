// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "hip/cpu/kernel_table.hpp"
#include "tool.hpp"

namespace hiptool::hip::cpu::test {

/// The kernels of this process as a module, on a stream of its own; at its end everything is waited
/// for.
class LoadedKernels {
 public:
  LoadedKernels();
  ~LoadedKernels();
  LoadedKernels(const LoadedKernels&) = delete;
  LoadedKernels& operator=(const LoadedKernels&) = delete;

  const Api& api() const { return api_; }
  hipStream_t stream() const { return stream_; }
  hipModule_t module() const { return module_; }
  hipFunction_t function(const char* name) const;

  /// Queues the kernel with these values as arguments.
  template <class... Values>
  hipError_t launch(const char* name, Dimensions grid, Dimensions block, unsigned shared_bytes,
                    Values... values) const {
    std::vector<void*> addresses{static_cast<void*>(&values)...};
    return api_.hipModuleLaunchKernel(function(name), grid.x, grid.y, grid.z, block.x, block.y,
                                      block.z, shared_bytes, stream_, addresses.data(), nullptr);
  }
  hipError_t wait() const { return api_.hipStreamSynchronize(stream_); }

 private:
  const Api& api_;
  hipStream_t stream_;
  hipModule_t module_ = nullptr;
};

/// Sets how kernels run and goes back to the usual way at its end.
class KernelsRun {
 public:
  explicit KernelsRun(KernelPath path, unsigned lanes = 32) {
    set_kernel_path(path);
    set_warp_size(lanes);
  }
  ~KernelsRun() {
    set_kernel_path(KernelPath::native);
    set_warp_size(32);
  }
  KernelsRun(const KernelsRun&) = delete;
  KernelsRun& operator=(const KernelsRun&) = delete;
};

}  // namespace hiptool::hip::cpu::test
