// SPDX-License-Identifier: MIT
/// Platforms whose streams and memory are the cpu platform's and whose modules and launches are
/// only written down; every platform is there, so that images of all kinds meet one that takes
/// them.
#pragma once
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "hip/api.hpp"
#include "hip/binding.hpp"
#include "hiptool/device.hpp"

namespace hiptool::test {

struct FakeLaunch {
  std::string kernel;
  unsigned grid_x = 0;
  unsigned block_x = 0;
  unsigned shared_bytes = 0;
  std::vector<std::uint64_t> arguments;  ///< the first 8 bytes of each
};

/// What the fake modules saw; the functions of a table have no context, so there is one.
struct FakeModules {
  int loaded = 0;
  int unloaded = 0;
  std::string image;          ///< text of the last one, to its first zero
  std::size_t arguments = 0;  ///< how many a launch is to read
  std::vector<FakeLaunch> launches;
  hip::hipError_t load_error = hip::hipSuccess;
  hip::hipError_t launch_error = hip::hipSuccess;
  hip::hipError_t unload_error = hip::hipSuccess;
  int max_threads_per_block = 0;  ///< of a kernel; 0: not told
  int static_shared_bytes = 0;
};

inline FakeModules& fake_modules() {
  static FakeModules modules;
  return modules;
}

namespace fake {

using namespace hip;

inline hipError_t load(hipModule_t* module, const void* image) {
  FakeModules& fakes = fake_modules();
  fakes.image = static_cast<const char*>(image);
  if (fakes.load_error != hipSuccess) return fakes.load_error;
  ++fakes.loaded;
  *module = reinterpret_cast<hipModule_t>(&fakes);
  return hipSuccess;
}

inline hipError_t load_with_log(hipModule_t* module, const void* image, unsigned, hipJitOption*,
                                void** values) {
  const hipError_t error = load(module, image);
  if (error != hipSuccess) std::strcpy(static_cast<char*>(values[0]), "ptxas says no\n");
  return error;
}

inline hipError_t unload(hipModule_t) {
  ++fake_modules().unloaded;
  return fake_modules().unload_error;
}

inline hipError_t get_function(hipFunction_t* function, hipModule_t, const char* name) {
  if (std::string_view(name) == "missing") return hipErrorNotFound;
  static std::vector<std::unique_ptr<std::string>> names;
  names.push_back(std::make_unique<std::string>(name));
  *function = reinterpret_cast<hipFunction_t>(names.back().get());
  return hipSuccess;
}

inline hipError_t get_attribute(int* value, hipFunction_attribute attribute, hipFunction_t) {
  const FakeModules& fakes = fake_modules();
  if (fakes.max_threads_per_block == 0) return hipErrorNotSupported;
  *value = attribute == HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? fakes.max_threads_per_block
                                                                 : fakes.static_shared_bytes;
  return hipSuccess;
}

inline hipError_t launch(hipFunction_t function, unsigned grid_x, unsigned, unsigned,
                         unsigned block_x, unsigned, unsigned, unsigned shared_bytes, hipStream_t,
                         void** arguments, void**) {
  FakeModules& fakes = fake_modules();
  if (fakes.launch_error != hipSuccess) return fakes.launch_error;
  FakeLaunch launch{
      *reinterpret_cast<const std::string*>(function), grid_x, block_x, shared_bytes, {}};
  for (std::size_t i = 0; i < fakes.arguments; ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, arguments[i], sizeof value);
    launch.arguments.push_back(value);
  }
  fakes.launches.push_back(std::move(launch));
  return hipSuccess;
}

}  // namespace fake

class FakeModuleBinder final : public hip::Binder {
 public:
  explicit FakeModuleBinder(void (*change)(hip::Api&) = nullptr) : change_(change) {
    fake_modules() = {};
  }

  hip::Binding bind(Platform platform, const hip::BindRequest& request) override {
    hip::Binding binding = hip::bind_cpu(request);
    api_ = *binding.api;
    api_.hipModuleLoadData = fake::load;
    api_.hipModuleLoadDataEx = fake::load_with_log;
    api_.hipModuleUnload = fake::unload;
    api_.hipModuleGetFunction = fake::get_function;
    api_.hipFuncGetAttribute = fake::get_attribute;
    api_.hipModuleLaunchKernel = fake::launch;
    if (change_ != nullptr) change_(api_);
    binding.api = &api_;
    binding.status.platform = platform;
    return binding;
  }

 private:
  void (*change_)(hip::Api&);
  hip::Api api_{};
};

}  // namespace hiptool::test
