// SPDX-License-Identifier: MIT

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "hip/cpu/accounting.hpp"
#include "hip/cpu/calls.hpp"
#include "hip/cpu/entry.hpp"
#include "hip/cpu/handles.hpp"
#include "hip/cpu/kernel_settings.hpp"

namespace hiptool::hip::cpu {
namespace {

using Functions = Handles<hipFunction_t, const CpuKernel>;

Functions& functions() {
  static auto* const instance = new Functions;
  return *instance;
}

/// Returns one handle for each kernel, however often it is looked up; the handles end with it.
class Module {
 public:
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module() {
    for (const auto& [kernel, handle] : handles_) functions().remove(handle);
  }

  hipFunction_t function_for(const CpuKernel* kernel) {
    const std::lock_guard lock(mutex_);
    const auto [place, is_new] = handles_.try_emplace(kernel, nullptr);
    // The kernel table owns the kernels and keeps them to the end.
    if (is_new) place->second = functions().add({std::shared_ptr<void>(), kernel});
    return place->second;
  }

 private:
  std::mutex mutex_;
  std::map<const CpuKernel*, hipFunction_t> handles_;
};

using Modules = Handles<hipModule_t, Module>;

Modules& modules() {
  static auto* const instance = new Modules;
  return *instance;
}

/// An image has no length of its own, so it is read only up to the first difference.
hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
  if (module == nullptr || image == nullptr) return hipErrorInvalidValue;
  const bool is_own =
      std::strncmp(static_cast<const char*>(image), cpu_image.data(), cpu_image.size()) == 0;
  if (!is_own) return hipErrorInvalidImage;
  *module = modules().add(std::make_shared<Module>());
  return hipSuccess;
}

/// The options are for a compiler, which this platform lacks.
hipError_t hipModuleLoadDataEx(hipModule_t* module, const void* image, unsigned, hipJitOption*,
                               void**) {
  return hipModuleLoadData(module, image);
}

hipError_t hipModuleUnload(hipModule_t module) {
  return modules().remove(module) != nullptr ? hipSuccess : hipErrorInvalidHandle;
}

hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name) {
  if (function == nullptr || name == nullptr) return hipErrorInvalidValue;
  const auto object = modules().find(module);
  if (object == nullptr) return hipErrorInvalidHandle;
  const CpuKernel* const kernel = find_kernel(name);
  if (kernel == nullptr) return hipErrorNotFound;
  *function = object->function_for(kernel);
  return hipSuccess;
}

hipError_t hipFuncGetAttribute(int* value, hipFunction_attribute attribute,
                               hipFunction_t function) {
  if (value == nullptr) return hipErrorInvalidValue;
  const CpuKernel* const kernel = find_function(function);
  if (kernel == nullptr) return hipErrorInvalidHandle;
  switch (attribute) {
    case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = max_threads_per_block;
      return hipSuccess;
    case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = most_shared_bytes_per_block;
      return hipSuccess;
    case HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = -1; return hipSuccess;
    case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *value = static_cast<int>(kernel->static_shared_bytes);
      return hipSuccess;
    // Values that a host compiler does not report, or that a CPU lacks.
    case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    case HIP_FUNC_ATTRIBUTE_NUM_REGS:
    case HIP_FUNC_ATTRIBUTE_PTX_VERSION:
    case HIP_FUNC_ATTRIBUTE_BINARY_VERSION:
    case HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = 0; return hipSuccess;
  }
  return hipErrorInvalidValue;
}

}  // namespace

const CpuKernel* find_function(hipFunction_t function) { return functions().find(function).get(); }

std::size_t live_module_count() { return modules().size(); }

void add_module_calls(Api& api) {
  api.hipModuleLoadData = &Entry<&hipModuleLoadData>::call;
  api.hipModuleLoadDataEx = &Entry<&hipModuleLoadDataEx>::call;
  api.hipModuleUnload = &Entry<&hipModuleUnload>::call;
  api.hipModuleGetFunction = &Entry<&hipModuleGetFunction>::call;
  api.hipFuncGetAttribute = &Entry<&hipFuncGetAttribute>::call;
}

}  // namespace hiptool::hip::cpu
