// SPDX-License-Identifier: MIT
#include "hiptool/launch.hpp"

#include "core/call.hpp"
#include "core/launch_limits.hpp"
#include "core/module_state.hpp"

namespace hiptool {
namespace {

using hip::Api;

void require_same_device(const Kernel& kernel, const StreamRef& stream) {
  if (stream.device() == kernel.device()) return;
  throw Error(ErrorCode::invalid_argument, "hipModuleLaunchKernel",
              "kernel '" + kernel.name() + "' is on " + kernel.device().id() + ", the stream on " +
                  stream.device().id(),
              "load the kernel on the stream's device");
}

}  // namespace

void launch_with_addresses(const Kernel& kernel, const LaunchConfig& config,
                           const StreamRef& stream, std::span<void* const> arguments) {
  const core::ModuleState& module = kernel.module().state();
  const Device& device = module.device;
  require_same_device(kernel, stream);
  core::check_launch(kernel, config, module.limits);
  const DeviceGuard guard(device);
  const auto native_stream = static_cast<hip::hipStream_t>(stream.native_handle());
  const Dim3& grid = config.grid;
  const Dim3& block = config.block;
  hip::hipError_t error = device.api().hipModuleLaunchKernel(
      static_cast<hip::hipFunction_t>(kernel.native_handle()), grid.x, grid.y, grid.z, block.x,
      block.y, block.z, config.shared_bytes, native_stream,
      const_cast<void**>(arguments.data()),  // the call only reads them
      nullptr);
  if (error != hip::hipSuccess) {
    throw core::call_error(device, "hipModuleLaunchKernel", error, core::to_text(kernel, config));
  }
  if (!module.is_blocking) return;
  error = device.api().hipStreamSynchronize(native_stream);
  if (error != hip::hipSuccess) {
    throw core::call_error(device, "hipStreamSynchronize", error, core::to_text(kernel, config),
                           "waited for because of HIP_LAUNCH_BLOCKING");
  }
}

}  // namespace hiptool
