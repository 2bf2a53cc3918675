// SPDX-License-Identifier: MIT
#include "hip/cpu/modules.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "hip/cpu/entry.hpp"
#include "hip/cpu/facts.hpp"
#include "hip/cpu/handles.hpp"
#include "hip/cpu/kernel_settings.hpp"

namespace hiptool::hip::cpu {
namespace {

using Functions = Handles<hipFunction_t, const CpuKernel>;

Functions& functions() {
  static auto* const instance = new Functions;
  return *instance;
}

/// Answers one handle for each kernel, however often it is asked for; the handles end with it.
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

hipError_t load(hipModule_t* module) {
  *module = modules().add(std::make_shared<Module>());
  return hipSuccess;
}

hipError_t hipModuleLoad(hipModule_t* module, const char* path) {
  if (module == nullptr || path == nullptr) return hipErrorInvalidValue;
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure)) return hipErrorFileNotFound;
  std::ifstream file(path, std::ios::binary);
  if (!file) return hipErrorFileNotFound;
  std::string content(cpu_image.size() + 2, '\0');  // a text file may end in a new line
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  content.resize(static_cast<std::size_t>(file.gcount()));
  while (!content.empty() && (content.back() == '\n' || content.back() == '\0')) content.pop_back();
  return content == cpu_image ? load(module) : hipErrorInvalidImage;
}

/// An image has no length of its own, so only as much is read as agrees.
hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
  if (module == nullptr || image == nullptr) return hipErrorInvalidValue;
  const bool is_own =
      std::strncmp(static_cast<const char*>(image), cpu_image.data(), cpu_image.size()) == 0;
  return is_own ? load(module) : hipErrorInvalidImage;
}

/// The options are for a compiler, which there is not.
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

/// Kernels have no variables that the host can see.
hipError_t hipModuleGetGlobal(hipDeviceptr_t*, std::size_t*, hipModule_t module, const char* name) {
  if (name == nullptr) return hipErrorInvalidValue;
  return modules().find(module) == nullptr ? hipErrorInvalidHandle : hipErrorNotFound;
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
    // What a host compiler does not say, or what a cpu has not.
    case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    case HIP_FUNC_ATTRIBUTE_NUM_REGS:
    case HIP_FUNC_ATTRIBUTE_PTX_VERSION:
    case HIP_FUNC_ATTRIBUTE_BINARY_VERSION:
    case HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = 0; return hipSuccess;
  }
  return hipErrorInvalidValue;
}

/// A core runs one block at a time, whatever its size.
hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, hipFunction_t function,
                                                              int block_size,
                                                              std::size_t shared_bytes) {
  if (blocks == nullptr || block_size <= 0) return hipErrorInvalidValue;
  if (find_function(function) == nullptr) return hipErrorInvalidHandle;
  const bool fits = block_size <= static_cast<int>(max_threads_per_block) &&
                    shared_bytes <= most_shared_bytes_per_block;
  *blocks = fits ? 1 : 0;
  return hipSuccess;
}

hipError_t hipModuleOccupancyMaxPotentialBlockSize(int* grid_size, int* block_size,
                                                   hipFunction_t function, std::size_t shared_bytes,
                                                   int block_size_limit) {
  constexpr int usual_block_size = 256;  // no size is faster than another
  if (grid_size == nullptr || block_size == nullptr || block_size_limit < 0 ||
      shared_bytes > most_shared_bytes_per_block) {
    return hipErrorInvalidValue;
  }
  if (find_function(function) == nullptr) return hipErrorInvalidHandle;
  *grid_size = current_facts()->cores;
  *block_size =
      block_size_limit == 0 ? usual_block_size : std::min(usual_block_size, block_size_limit);
  return hipSuccess;
}

}  // namespace

const CpuKernel* find_function(hipFunction_t function) { return functions().find(function).get(); }

std::size_t live_module_count() { return modules().size(); }

void add_module_calls(Api& api) {
  api.hipModuleLoad = &Entry<&hipModuleLoad>::call;
  api.hipModuleLoadData = &Entry<&hipModuleLoadData>::call;
  api.hipModuleLoadDataEx = &Entry<&hipModuleLoadDataEx>::call;
  api.hipModuleUnload = &Entry<&hipModuleUnload>::call;
  api.hipModuleGetFunction = &Entry<&hipModuleGetFunction>::call;
  api.hipModuleGetGlobal = &Entry<&hipModuleGetGlobal>::call;
  api.hipFuncGetAttribute = &Entry<&hipFuncGetAttribute>::call;
  api.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor =
      &Entry<&hipModuleOccupancyMaxActiveBlocksPerMultiprocessor>::call;
  api.hipModuleOccupancyMaxPotentialBlockSize =
      &Entry<&hipModuleOccupancyMaxPotentialBlockSize>::call;
}

}  // namespace hiptool::hip::cpu
