// SPDX-License-Identifier: MIT
#include <filesystem>

#include "fakes/hip/call.hpp"
#include "fakes/hip/devices.hpp"
#include "fakes/hip/image.hpp"

using namespace hiptool::fake;

extern "C" {

hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
  if (module == nullptr || image == nullptr) return finish(hipErrorInvalidValue);
  const hipError_t error = enter();
  return finish(error == hipSuccess ? load_module(module, read_amd_image(image)) : error);
}
hipError_t hipModuleLoadDataEx(hipModule_t* module, const void* image, unsigned, hipJitOption*,
                               void**) {
  return hipModuleLoadData(module, image);
}

/// An empty file is an invalid value before 7.0 and an invalid image since.
hipError_t hipModuleLoad(hipModule_t* module, const char* path) {
  if (module == nullptr || path == nullptr) return finish(hipErrorInvalidValue);
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure)) return finish(hipErrorFileNotFound);
  const std::vector<char> image = read_image_file(path);
  if (image.empty()) return finish(is_before_7() ? hipErrorInvalidValue : hipErrorInvalidImage);
  return hipModuleLoadData(module, image.data());
}
hipError_t hipModuleUnload(hipModule_t module) { return finish(unload_module(module)); }

hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name) {
  if (function == nullptr || name == nullptr) return finish(hipErrorInvalidValue);
  return finish(find_function(function, module, name));
}
hipError_t hipModuleGetGlobal(hipDeviceptr_t*, std::size_t*, hipModule_t module, const char* name) {
  return finish(name != nullptr ? find_global(module) : hipErrorInvalidValue);
}

/// A block that is too large is an invalid value before 7.0.
hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y,
                                 unsigned grid_z, unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned shared_bytes, hipStream_t stream,
                                 void** arguments, void** extra) {
  const hipError_t error =
      forward_after(enter_stream(stream), &Api::hipModuleLaunchKernel, function, grid_x, grid_y,
                    grid_z, block_x, block_y, block_z, shared_bytes, stream, arguments, extra);
  const bool is_block_error = error == hipErrorInvalidConfiguration;
  return is_block_error && is_before_7() ? finish(hipErrorInvalidValue) : error;
}

hipError_t hipFuncGetAttribute(int* value, hipFunction_attribute attribute,
                               hipFunction_t function) {
  return forward(&Api::hipFuncGetAttribute, value, attribute, function);
}
hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, hipFunction_t function,
                                                              int block_size,
                                                              std::size_t shared_bytes) {
  return forward(&Api::hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, blocks, function,
                 block_size, shared_bytes);
}
hipError_t hipModuleOccupancyMaxPotentialBlockSize(int* grid_size, int* block_size,
                                                   hipFunction_t function, std::size_t shared_bytes,
                                                   int block_size_limit) {
  return forward(&Api::hipModuleOccupancyMaxPotentialBlockSize, grid_size, block_size, function,
                 shared_bytes, block_size_limit);
}

}  // extern "C"
