// SPDX-License-Identifier: MIT
#include "hip/nvidia/early_start.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "hip/keep_forever.hpp"
#include "hip/nvidia/driver.hpp"

namespace hiptool::hip::nvidia {
namespace {

struct EarlyFunctions {
  std::shared_mutex mutex;
  std::unordered_map<CUfunction, CUmodule> modules;
  // The stream of the last launch, if that may start early. Several threads that launch by turns
  // lose early starts at most.
  std::atomic<CUstream> stream = nullptr;
};

// Threads may launch while the process ends.
EarlyFunctions& early_functions() {
  static auto& functions = keep_forever(std::make_unique<EarlyFunctions>());
  return functions;
}

bool starts_early(CUfunction function) {
  EarlyFunctions& early = early_functions();
  const std::shared_lock lock(early.mutex);
  return early.modules.count(function) > 0;
}

}  // namespace

void note_function(CUmodule module, CUfunction function) {
  CUdeviceptr address = 0;
  std::size_t size_bytes = 0;
  const CUresult found =
      cuda().cuModuleGetGlobal_v2(&address, &size_bytes, module, "hiptool_starts_early");
  if (found != CUDA_SUCCESS) return;
  EarlyFunctions& early = early_functions();
  const std::unique_lock lock(early.mutex);
  early.modules[function] = module;
}

void forget_functions(CUmodule module) {
  EarlyFunctions& early = early_functions();
  const std::unique_lock lock(early.mutex);
  std::erase_if(early.modules, [&](const auto& one) { return one.second == module; });
}

CUresult launch_early_or_not(CUfunction function, const CudaLaunch& launch, void** arguments,
                             void** extra) {
  const bool is_early = starts_early(function);
  const CUstream before = early_functions().stream.exchange(is_early ? launch.stream : nullptr);
  if (is_early && before == launch.stream) {
    CudaLaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmatic_stream_serialization_allowed = 1;
    CudaLaunch early = launch;
    early.attributes = &attribute;
    early.attribute_count = 1;
    const CUresult result = cuda().cuLaunchKernelEx(&early, function, arguments, extra);
    if (result != CUDA_ERROR_NOT_SUPPORTED) return result;
  }
  return cuda().cuLaunchKernel(function, launch.grid_x, launch.grid_y, launch.grid_z,
                               launch.block_x, launch.block_y, launch.block_z, launch.shared_bytes,
                               launch.stream, arguments, extra);
}

}  // namespace hiptool::hip::nvidia
