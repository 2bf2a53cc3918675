// SPDX-License-Identifier: MIT
#include "kernel_tool.hpp"

#include <doctest/doctest.h>

namespace hiptool::hip::cpu::test {

LoadedKernels::LoadedKernels() : api_(bound()), stream_(make_stream(api_)) {
  REQUIRE(api_.hipModuleLoadData(&module_, cpu_image.data()) == hipSuccess);
}

LoadedKernels::~LoadedKernels() {
  CHECK(wait() == hipSuccess);
  CHECK(api_.hipModuleUnload(module_) == hipSuccess);
  CHECK(api_.hipStreamDestroy(stream_) == hipSuccess);
}

hipFunction_t LoadedKernels::function(const char* name) const {
  hipFunction_t found = nullptr;
  REQUIRE(api_.hipModuleGetFunction(&found, module_, name) == hipSuccess);
  return found;
}

}  // namespace hiptool::hip::cpu::test
