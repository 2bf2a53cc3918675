// SPDX-License-Identifier: MIT
#include "hiptool/kernel.hpp"

#include <utility>

#include "core/call.hpp"

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

}  // namespace

Kernel::Kernel(Module module, std::string name)
    : module_(std::move(module)), name_(std::move(name)) {
  const DeviceGuard guard(device());
  hip::hipFunction_t function = nullptr;
  const hip::hipError_t error = device().api().hipModuleGetFunction(
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

}  // namespace hiptool
