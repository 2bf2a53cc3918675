// SPDX-License-Identifier: MIT
#include "fakes/common/modules.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "fakes/common/inner.hpp"
#include "hip/cpu/kernel_table.hpp"

namespace hiptool::fake {
namespace {

using namespace hip;

/// The inner module of each live one is its handle.
struct Modules {
  std::mutex mutex;
  std::map<hipModule_t, std::vector<std::string>> kernels;
};

Modules& modules() {
  static auto* const live = new Modules;
  return *live;
}

}  // namespace

hipError_t load_module(hipModule_t* module, const Contents& contents) {
  if (contents.error != 0) return static_cast<hipError_t>(contents.error);
  const hipError_t error = inner().hipModuleLoadData(module, hip::cpu::cpu_image.data());
  if (error != hipSuccess) return error;
  const std::lock_guard lock(modules().mutex);
  modules().kernels.emplace(*module, contents.kernels);
  return hipSuccess;
}

hipError_t unload_module(hipModule_t module) {
  {
    const std::lock_guard lock(modules().mutex);
    if (modules().kernels.erase(module) == 0) return hipErrorInvalidHandle;
  }
  return inner().hipModuleUnload(module);
}

hipError_t find_function(hipFunction_t* function, hipModule_t module, const char* name) {
  {
    const std::lock_guard lock(modules().mutex);
    const auto found = modules().kernels.find(module);
    if (found == modules().kernels.end()) return hipErrorInvalidHandle;
    const auto& names = found->second;
    if (std::find(names.begin(), names.end(), name) == names.end()) return hipErrorNotFound;
  }
  return inner().hipModuleGetFunction(function, module, name);
}

}  // namespace hiptool::fake
