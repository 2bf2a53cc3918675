// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "fakes/common/settings.hpp"
#include "fakes/cuda/call.hpp"
#include "fakes/cuda/faults.hpp"
#include "fakes/cuda/faulty_kernels.hpp"
#include "fakes/cuda/graphs.hpp"
#include "fakes/cuda/hold.hpp"
#include "fakes/cuda/image.hpp"
#include "fakes/cuda/reads.hpp"

using namespace hiptool::fake;

namespace {

constexpr int error_log_buffer = 5;
constexpr int error_log_buffer_bytes = 6;

/// A module and its functions belong to the context that was current when it was loaded.
struct Owners {
  std::mutex mutex;
  std::map<CUmodule, CUcontext> of_module;
  std::map<CUfunction, CUcontext> of_function;
  std::map<CUfunction, unsigned> shared_bytes;  ///< that were asked for
  std::map<CUfunction, std::string> names;
  std::map<CUmodule, std::vector<std::string>> variables;
  std::set<CUfunction> early;    ///< of modules that say that their kernels wait
  std::set<CUfunction> skipped;  ///< kernels that FAKE_CUDA_SKIP_KERNEL names
};

Owners& owners() {
  static auto* const instance = new Owners;
  return *instance;
}

CUresult load(CUmodule* module, const Contents& contents) {
  const CUresult result = to_cuda(load_module(module, contents));
  if (result != CUDA_SUCCESS) return result;
  const std::lock_guard lock(owners().mutex);
  owners().of_module[*module] = current_context();
  owners().variables[*module] = contents.variables;
  return CUDA_SUCCESS;
}

// The caller has the lock.
bool has_variable(CUmodule module, const char* name) {
  const std::vector<std::string>& all = owners().variables[module];
  return std::find(all.begin(), all.end(), name) != all.end();
}

bool is_early(CUfunction function) {
  const std::lock_guard lock(owners().mutex);
  return owners().early.count(function) > 0;
}

bool is_of_current_context(CUfunction function) {
  const std::lock_guard lock(owners().mutex);
  const auto found = owners().of_function.find(function);
  return found != owners().of_function.end() && found->second == current_context();
}

std::string name_of(CUfunction function) {
  const std::lock_guard lock(owners().mutex);
  return owners().names[function];
}

/// Whether launches of this kernel do nothing.
bool is_skipped(CUfunction function) {
  const std::lock_guard lock(owners().mutex);
  return owners().skipped.count(function) > 0;
}

// CUDA C++ Programming Guide, compute capabilities: of any block, and of one of sm_90 on request.
constexpr unsigned plain_shared_bytes = 48 * 1024;
constexpr unsigned most_shared_bytes = 227 * 1024;

unsigned allowed_shared_bytes(CUfunction function) {
  const std::lock_guard lock(owners().mutex);
  const auto found = owners().shared_bytes.find(function);
  return found == owners().shared_bytes.end() ? plain_shared_bytes : found->second;
}

/// Puts the log where the options point to, cut to fit and ended.
void put_log(const std::string& log, unsigned count, const CUjit_option* options, void** values) {
  char* buffer = nullptr;
  std::size_t bytes = 0;
  for (unsigned index = 0; index < count; ++index) {
    const int option = static_cast<int>(options[index]);
    if (option == error_log_buffer) buffer = static_cast<char*>(values[index]);
    if (option == error_log_buffer_bytes) bytes = reinterpret_cast<std::size_t>(values[index]);
  }
  if (buffer == nullptr || bytes == 0) return;
  const std::size_t length = std::min(log.size(), bytes - 1);
  std::memcpy(buffer, log.data(), length);
  buffer[length] = '\0';
}

/// CUDA's list ends with 0 and the inner platform's with 3, which CUDA does not know.
bool translate_list(void** extra, std::array<void*, 5>& list) {
  for (std::size_t place = 0; place < list.size(); place += 2) {
    const auto key = reinterpret_cast<std::uintptr_t>(extra[place]);
    if (key == 0) {
      list[place] = reinterpret_cast<void*>(hiptool::hip::hip_launch_param_end);
      return true;
    }
    if (key > 2 || place + 1 == list.size()) return false;
    list[place] = extra[place];
    list[place + 1] = extra[place + 1];
  }
  return false;
}

}  // namespace

extern "C" {

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count,
                            CUjit_option* options, void** values) {
  CUresult entered = enter_context();
  if (entered == CUDA_SUCCESS) entered = refuse_in_thread();
  if (entered != CUDA_SUCCESS) return entered;
  if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Contents contents = read_cuda_image(image);
  put_log(contents.log, count, options, values);
  return load(module, contents);
}
CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}
CUresult cuModuleUnload(CUmodule module) {
  const CUresult entered = enter_context();
  return entered == CUDA_SUCCESS ? to_cuda(unload_module(module)) : entered;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  const CUresult entered = enter_context();
  if (entered != CUDA_SUCCESS) return entered;
  const CUresult result = to_cuda(find_function(function, module, name));
  if (result != CUDA_SUCCESS) return result;
  const std::lock_guard lock(owners().mutex);
  owners().of_function[*function] = owners().of_module[module];
  owners().names[*function] = name;
  owners().early.erase(*function);
  if (has_variable(module, "hiptool_starts_early")) owners().early.insert(*function);
  if (text_from("FAKE_CUDA_SKIP_KERNEL", "") == name) owners().skipped.insert(*function);
  return CUDA_SUCCESS;
}
CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, std::size_t* size_bytes, CUmodule module,
                              const char* name) {
  const CUresult entered = enter_context();
  if (entered != CUDA_SUCCESS) return entered;
  static unsigned char variable = 1;
  const std::lock_guard lock(owners().mutex);
  if (!has_variable(module, name)) return static_cast<CUresult>(hiptool::hip::hipErrorNotFound);
  *address = reinterpret_cast<CUdeviceptr>(&variable);
  *size_bytes = sizeof(variable);
  return CUDA_SUCCESS;
}
/// Stream and function have to be of the current context.
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void** arguments, void** extra) {
  CUresult result = enter_context();
  if (result == CUDA_SUCCESS) result = enter_stream(stream);
  if (result != CUDA_SUCCESS) return result;
  const CUcontext of_stream = stream != nullptr ? context_of(stream) : current_context();
  state().launch_ordinals[0] = ordinal_of(current_context());
  state().launch_ordinals[1] = ordinal_of(of_stream);
  if (of_stream != current_context() || !is_of_current_context(function)) {
    return static_cast<CUresult>(hiptool::hip::hipErrorInvalidHandle);
  }
  if (shared_bytes > allowed_shared_bytes(function)) return CUDA_ERROR_INVALID_VALUE;
  if (is_recording(stream)) {
    if (arguments == nullptr) return CUDA_ERROR_NOT_SUPPORTED;  // no more is needed
    const auto own = std::make_shared<OwnArguments>(name_of(function), arguments);
    return record(stream, [=](CUstream on) {
      return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                            shared_bytes, on, own->addresses(), nullptr);
    });
  }
  if (is_skipped(function)) return CUDA_SUCCESS;
  std::array<void*, 5> list{};
  if (extra != nullptr) {
    std::copy(extra, extra + list.size(), state().extra.begin());
    if (!translate_list(extra, list)) return CUDA_ERROR_INVALID_VALUE;
    extra = list.data();
  }
  const std::string name = name_of(function);
  hold(name);
  if (is_idle(name, stream)) return CUDA_SUCCESS;
  if (reads_behind_memory(name, arguments)) {
    return static_cast<CUresult>(hiptool::hip::hipErrorIllegalAddress);
  }
  const ProductFault fault(name, stream, arguments);
  result = launch_faulty(name, stream, grid_x, arguments, [&](void** changed) {
    return forward(&Api::hipModuleLaunchKernel, function, grid_x, grid_y, grid_z, block_x, block_y,
                   block_z, shared_bytes, stream, changed, extra);
  });
  return result == CUDA_SUCCESS ? after_launch(name, stream, arguments) : result;
}
/// Only kernels that wait for those in front of them may start early; the others would race.
CUresult cuLaunchKernelEx(const CudaLaunch* launch, CUfunction function, void** arguments,
                          void** extra) {
  if (number_from("FAKE_CUDA_NO_EARLY", 0) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  for (unsigned i = 0; i < launch->attribute_count; ++i) {
    const CudaLaunchAttribute& attribute = launch->attributes[i];
    if (attribute.id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION ||
        attribute.value.programmatic_stream_serialization_allowed != 1 || !is_early(function)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    ++state().early_launches;
  }
  return cuLaunchKernel(function, launch->grid_x, launch->grid_y, launch->grid_z, launch->block_x,
                        launch->block_y, launch->block_z, launch->shared_bytes, launch->stream,
                        arguments, extra);
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  if (attribute == hiptool::hip::HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    *value = static_cast<int>(allowed_shared_bytes(function));
    return CUDA_SUCCESS;
  }
  return forward(&Api::hipFuncGetAttribute, value, attribute, function);
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  const bool is_known = attribute == hiptool::hip::HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  if (!is_known || value < 0 || static_cast<unsigned>(value) > most_shared_bytes) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::lock_guard lock(owners().mutex);
  owners().shared_bytes[function] = static_cast<unsigned>(value);
  return CUDA_SUCCESS;
}
}  // extern "C"
