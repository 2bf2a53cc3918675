// SPDX-License-Identifier: MIT
#include <filesystem>

#include "fakes/hip/call.hpp"
#include "fakes/hip/devices.hpp"
#include "fakes/hip/image.hpp"

using namespace hiptool::fake;

extern "C" {

hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
  if (module == nullptr || image == nullptr) return hipErrorInvalidValue;
  const hipError_t error = enter();
  return error == hipSuccess ? load_module(module, read_amd_image(image)) : error;
}
hipError_t hipModuleLoadDataEx(hipModule_t* module, const void* image, unsigned, hipJitOption*,
                               void**) {
  return hipModuleLoadData(module, image);
}

hipError_t hipModuleUnload(hipModule_t module) { return unload_module(module); }

hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name) {
  if (function == nullptr || name == nullptr) return hipErrorInvalidValue;
  return find_function(function, module, name);
}
/// A block that is too large is an invalid value, in 6.4.3 and 7.2.4 alike.
hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y,
                                 unsigned grid_z, unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned shared_bytes, hipStream_t stream,
                                 void** arguments, void** extra) {
  const hipError_t error =
      forward_after(enter_stream(stream), &Api::hipModuleLaunchKernel, function, grid_x, grid_y,
                    grid_z, block_x, block_y, block_z, shared_bytes, stream, arguments, extra);
  return error == hipErrorInvalidConfiguration ? hipErrorInvalidValue : error;
}

hipError_t hipFuncGetAttribute(int* value, hipFunction_attribute attribute,
                               hipFunction_t function) {
  return forward(&Api::hipFuncGetAttribute, value, attribute, function);
}
}  // extern "C"
