// SPDX-License-Identifier: MIT
/// Modules of a fake library: the names of an image's kernels, each mapped to the kernel of that
/// name among those for the processor. The image itself is never executed.
#pragma once
#include <string>
#include <vector>

#include "hip/abi.hpp"

namespace hiptool::fake {

/// What an image was found to be.
struct Contents {
  int error = 0;  ///< what the runtime answers to it, 0 if it can be loaded
  std::vector<std::string> kernels;
  std::string log;                     ///< what the driver's compiler would say of it
  std::vector<std::string> variables;  ///< that the host can find, where a fake tells them
};

hip::hipError_t load_module(hip::hipModule_t* module, const Contents& contents);
hip::hipError_t unload_module(hip::hipModule_t module);
/// hipErrorNotFound for a name that is not in the image, or has no kernel for the processor.
hip::hipError_t find_function(hip::hipFunction_t* function, hip::hipModule_t module,
                              const char* name);

}  // namespace hiptool::fake
