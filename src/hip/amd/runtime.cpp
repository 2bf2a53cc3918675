// SPDX-License-Identifier: MIT
#include "hip/amd/runtime.hpp"

#include <cstdint>
#include <memory>
#include <new>

namespace hiptool::hip::amd {
namespace {

/// The runtime's own functions, which the adapted calls use.
struct Adapted {
  decltype(Api::hipHostRegister) host_register;
  decltype(Api::hipLaunchHostFunc) launch_host_func;
  StreamAddCallback stream_add_callback;
  decltype(Api::hipModuleLaunchKernel) launch_kernel;
  decltype(Api::hipGetDevice) get_device;
  decltype(Api::hipDeviceGetAttribute) get_attribute;
};

Adapted& adapted() noexcept {
  static Adapted functions{};
  return functions;
}

/// The header's read-only flag is another flag's bit in AMD's runtime (coarse grained), which has
/// no read-only registration.
hipError_t host_register(void* pointer, std::size_t bytes, unsigned flags) {
  return adapted().host_register(pointer, bytes, flags & ~hipHostRegisterReadOnly);
}

struct HostFunction {
  hipHostFn_t function;
  void* user_data;
};

void run_host_function(hipStream_t, hipError_t, void* user_data) {
  const std::unique_ptr<HostFunction> call(static_cast<HostFunction*>(user_data));
  call->function(call->user_data);
}

/// HIP 5.2 exports only the older form of this call; other runtimes export both and return
/// hipErrorNotSupported from this one.
hipError_t launch_host_function(hipStream_t stream, hipHostFn_t function, void* user_data) {
  if (function == nullptr) return hipErrorInvalidValue;
  const hipError_t direct = adapted().launch_host_func(stream, function, user_data);
  if (direct != hipErrorNotSupported) return direct;
  std::unique_ptr<HostFunction> call(new (std::nothrow) HostFunction{function, user_data});
  if (call == nullptr) return hipErrorOutOfMemory;
  const hipError_t error = adapted().stream_add_callback(stream, run_host_function, call.get(), 0);
  if (error == hipSuccess) call.release();  // the callback owns it now
  return error;
}

/// Called only after a launch has failed.
bool is_block_too_large(std::uint64_t threads) {
  int ordinal = 0;
  int limit = 0;
  return adapted().get_device(&ordinal) == hipSuccess &&
         adapted().get_attribute(&limit, hipDeviceAttributeMaxThreadsPerBlock, ordinal) ==
             hipSuccess &&
         threads > static_cast<std::uint64_t>(limit);
}

/// A block larger than the device can run is an invalid value: HIP 7.2 returns that as HIP 6 does,
/// although the release notes of 7.0 announce hipErrorInvalidConfiguration.
hipError_t launch_kernel(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                         unsigned block_x, unsigned block_y, unsigned block_z,
                         unsigned shared_bytes, hipStream_t stream, void** arguments,
                         void** extra) {
  const hipError_t error =
      adapted().launch_kernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                              shared_bytes, stream, arguments, extra);
  if (error != hipErrorInvalidValue) return error;
  const std::uint64_t threads = std::uint64_t{block_x} * block_y * block_z;
  return is_block_too_large(threads) ? hipErrorInvalidConfiguration : error;
}

bool has(const base::DynamicLibrary& library, const char* name) {
  return library.symbol(name) != nullptr;
}

}  // namespace

std::string load_runtime(const base::DynamicLibrary& library, Api& api) {
  api = make_unsupported_api();
  std::string missing;
  Api::for_each([&](auto member, std::string_view name, Need need) {
    using Function = std::remove_reference_t<decltype(api.*member)>;
    const std::string symbol(name);
    if (const auto function = library.function<Function>(symbol.c_str()); function != nullptr) {
      api.*member = function;
    } else if (need == Need::required) {
      if (!missing.empty()) missing += ", ";
      missing += symbol;
    }
  });
  // The plain name is the old layout in every runtime: HIP 6 renamed the new one by macro.
  if (!has(library, "hipGetDevicePropertiesR0000") && has(library, "hipGetDeviceProperties")) {
    using Function = decltype(Api::hipGetDevicePropertiesR0000);
    api.hipGetDevicePropertiesR0000 = library.function<Function>("hipGetDeviceProperties");
  }
  return missing;
}

Release identify_release(int version, const base::DynamicLibrary& library) {
  switch (major_of_version(version)) {
    case 4:
    case 5:
    case 6:
    case 7: return Release::known;
    default: break;
  }
  if (!has(library, "hipGetDevicePropertiesR0600")) return Release::unrecognised;
  return major_of_version(version) > 7 ? Release::newer : Release::like_hip6;
}

std::string format_version(int version) {
  if (version <= 0) return {};
  return std::to_string(major_of_version(version)) + "." + std::to_string(version / 100000 % 100) +
         "." + std::to_string(version % 100000);
}

void adapt_runtime(Api& api, const base::DynamicLibrary& library) {
  const auto add_callback = library.function<StreamAddCallback>("hipStreamAddCallback");
  adapted() = {api.hipHostRegister,       api.hipLaunchHostFunc, add_callback,
               api.hipModuleLaunchKernel, api.hipGetDevice,      api.hipDeviceGetAttribute};
  api.hipHostRegister = host_register;
  if (add_callback != nullptr) api.hipLaunchHostFunc = launch_host_function;
  if (has(library, "hipModuleLaunchKernel")) api.hipModuleLaunchKernel = launch_kernel;
}

}  // namespace hiptool::hip::amd
