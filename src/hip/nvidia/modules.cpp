// SPDX-License-Identifier: MIT
#include "hip/nvidia/calls.hpp"
#include "hip/nvidia/driver.hpp"
#include "hip/nvidia/early_start.hpp"
#include "hip/nvidia/launch_list.hpp"

namespace hiptool::hip::nvidia {
namespace {

hipError_t load_module_data(hipModule_t* module, const void* image) {
  if (module == nullptr || image == nullptr) return hipErrorInvalidValue;
  return call_after(enter_device(), [=] { return cuda().cuModuleLoadData(module, image); });
}

hipError_t load_module_data_ex(hipModule_t* module, const void* image, unsigned options,
                               hipJitOption* option, void** option_value) {
  if (module == nullptr || image == nullptr) return hipErrorInvalidValue;
  return call_after(enter_device(), [=] {
    return cuda().cuModuleLoadDataEx(module, image, options, option, option_value);
  });
}

hipError_t unload_module(hipModule_t module) {
  if (module == nullptr) return hipErrorInvalidHandle;
  forget_functions(module);
  return call_after(enter_device(), [=] { return cuda().cuModuleUnload(module); });
}

hipError_t get_function(hipFunction_t* function, hipModule_t module, const char* name) {
  if (function == nullptr || name == nullptr) return hipErrorInvalidValue;
  if (module == nullptr) return hipErrorInvalidHandle;
  const hipError_t error = call_after(
      enter_device(), [=] { return cuda().cuModuleGetFunction(function, module, name); });
  if (error == hipSuccess) note_function(module, *function);
  return error;
}

/// A block larger than the device can run is an invalid configuration in HIP 7 and an invalid value
/// in CUDA; checked only after a launch has failed.
bool is_block_too_large(std::uint64_t threads) {
  CUdevice device = 0;
  int limit = 0;
  return find_device(current_ordinal(), device) == hipSuccess &&
         cuda().cuDeviceGetAttribute(&limit, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device) ==
             CUDA_SUCCESS &&
         threads > static_cast<std::uint64_t>(limit);
}

/// CUDA gives a function more than 48 KiB of shared memory only on request, HIP on AMD without.
/// Where this fails the launch does, and says so.
void allow_shared_bytes(CUfunction function, unsigned shared_bytes) {
  constexpr auto most = HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  int allowed = 0;
  if (cuda().cuFuncGetAttribute(&allowed, most, function) != CUDA_SUCCESS) return;
  if (shared_bytes <= static_cast<unsigned>(allowed)) return;
  cuda().cuFuncSetAttribute(function, most, static_cast<int>(shared_bytes));
  // A multiprocessor changes how it divides memory between the first cache and shared memory only
  // when it is idle: kernels that follow each other are to have the same division.
  constexpr int percent = 100;
  cuda().cuFuncSetAttribute(function, HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, percent);
}

hipError_t launch(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                  hipStream_t stream, void** arguments, void** extra) {
  if (function == nullptr) return hipErrorInvalidHandle;
  LaunchList list{};
  if (extra != nullptr) {
    if (!translate_launch_list(extra, list)) return hipErrorInvalidValue;
    extra = list.data();
  }
  if (const hipError_t error = enter_stream(stream); error != hipSuccess) return error;
  if (shared_bytes > 0) allow_shared_bytes(function, shared_bytes);
  const CudaLaunch config{grid_x,  grid_y,       grid_z, block_x, block_y,
                          block_z, shared_bytes, stream, nullptr, 0};
  const CUresult result = launch_early_or_not(function, config, arguments, extra);
  const std::uint64_t threads = std::uint64_t{block_x} * block_y * block_z;
  if (result == CUDA_ERROR_INVALID_VALUE && is_block_too_large(threads)) {
    return hipErrorInvalidConfiguration;
  }
  return translate(result);
}

hipError_t get_function_attribute(int* value, hipFunction_attribute attribute,
                                  hipFunction_t function) {
  if (value == nullptr) return hipErrorInvalidValue;
  if (function == nullptr) return hipErrorInvalidHandle;
  return call_after(enter_device(),
                    [=] { return cuda().cuFuncGetAttribute(value, attribute, function); });
}

}  // namespace

void fill_modules(Api& api) {
  api.hipModuleLoadData = load_module_data;
  api.hipModuleLoadDataEx = load_module_data_ex;
  api.hipModuleUnload = unload_module;
  api.hipModuleGetFunction = get_function;
  api.hipModuleLaunchKernel = launch;
  api.hipFuncGetAttribute = get_function_attribute;
}

}  // namespace hiptool::hip::nvidia
