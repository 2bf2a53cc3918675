// SPDX-License-Identifier: MIT
#include "hiptool/kernel.hpp"

#include <utility>

#include "core/call.hpp"
#include "core/launch_limits.hpp"
#include "core/module_state.hpp"

namespace hiptool {
namespace {

using hip::Api;

std::optional<std::uint64_t> attribute(const Device& device, hip::hipFunction_attribute number,
                                       hip::hipFunction_t function) {
  int value = 0;
  if (!core::query<&Api::hipFuncGetAttribute>(device, &value, number, function) || value < 0) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(value);
}

void require_same_device(const Kernel& kernel, const StreamRef& stream) {
  if (stream.device() == kernel.device()) return;
  throw Error(ErrorCode::invalid_argument, "hipModuleLaunchKernel",
              "kernel '" + kernel.name() + "' is on " + kernel.device().id() + ", the stream on " +
                  stream.device().id(),
              "load the kernel on the stream's device");
}

}  // namespace

Kernel::Kernel(Module module, std::string name)
    : module_(std::move(module)), name_(std::move(name)) {
  const DeviceGuard guard(device());
  hip::hipFunction_t function = nullptr;
  const hip::hipError_t error = core::api_of(device()).hipModuleGetFunction(
      &function, static_cast<hip::hipModule_t>(module_.native_handle()), name_.c_str());
  if (error != hip::hipSuccess) {
    std::string subject = "kernel '" + name_ + "'";
    if (!module_.name().empty()) subject += " of module '" + module_.name() + "'";
    throw core::call_error(device(), "hipModuleGetFunction", error, subject);
  }
  function_ = function;
  max_threads_per_block_ =
      attribute(device(), hip::HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
  if (max_threads_per_block_ == 0) max_threads_per_block_.reset();
  static_shared_bytes_ = attribute(device(), hip::HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
}

void launch_with_addresses(const Kernel& kernel, const LaunchConfig& config,
                           const StreamRef& stream, std::span<void* const> arguments) {
  const core::ModuleState& module = core::Access::state(kernel.module());
  const Device& device = module.device;
  require_same_device(kernel, stream);
  core::check_launch(kernel, config, module.limits);
  const DeviceGuard guard(device);
  const auto native_stream = core::native_of(stream);
  const Dim3& grid = config.grid;
  const Dim3& block = config.block;
  hip::hipError_t error = core::api_of(device).hipModuleLaunchKernel(
      static_cast<hip::hipFunction_t>(kernel.native_handle()), grid.x, grid.y, grid.z, block.x,
      block.y, block.z, config.shared_bytes, native_stream,
      const_cast<void**>(arguments.data()),  // the call only reads them
      nullptr);
  if (error != hip::hipSuccess) {
    throw core::call_error(device, "hipModuleLaunchKernel", error, core::to_text(kernel, config));
  }
  if (!module.is_blocking) return;
  error = core::api_of(device).hipStreamSynchronize(native_stream);
  if (error != hip::hipSuccess) {
    throw core::call_error(device, "hipStreamSynchronize", error, core::to_text(kernel, config),
                           "waited for because of HIP_LAUNCH_BLOCKING");
  }
}

}  // namespace hiptool
