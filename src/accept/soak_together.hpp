// SPDX-License-Identifier: MIT
/// One kernel on several devices at the same time.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "accept/soak.hpp"
#include "hiptool/cancel.hpp"
#include "hiptool/device.hpp"
#include "measure/kernel_bench.hpp"

namespace hiptool::accept {

struct TogetherOptions {
  measure::KernelBenchOptions bench;  ///< names, types, sizes, seed and the cancel token
  double time_s = 10;                 ///< of each kernel
  double spread = 0.1;                ///< a GPU may be so much slower than the others
  double patience_s = 30;             ///< for one round
  /// Called on the calling thread several times a second: the kernel, and each device with what it
  /// does; may be empty.
  std::function<void(const std::string& kernel,
                     const std::vector<std::pair<std::string, std::string>>& devices)>
      on_progress;
};

struct TogetherResult {
  std::vector<measure::KernelResult> results;  ///< kernel by kernel, device by device
  std::vector<SoakedLoad> soaked;              ///< of those that ran
  std::vector<Fault> faults;                   ///< GPUs that slow or are behind the others
  bool has_left_threads = false;               ///< the process must end without destructors
};

/// Runs each chosen kernel, type and size on all devices, started together, for a time, with each
/// result checked, and judges the devices as a soak does. A device that cannot run it is skipped. A
/// device that hangs is left out of what follows. Blocks; when cancelled it returns what was
/// measured so far. Throws as run_kernels() does for wrong options.
TogetherResult run_together(const std::vector<Device>& devices, const TogetherOptions& options);

}  // namespace hiptool::accept
