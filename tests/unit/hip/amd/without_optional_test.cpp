// SPDX-License-Identifier: MIT
/// A runtime that has only what the table cannot do without.
#include <doctest/doctest.h>

#include "hip/api.hpp"
#include "hip/binding.hpp"
#include "hip/properties.hpp"
#include "unit/hip/temporary_tree.hpp"

namespace hiptool::hip {

TEST_CASE("it is usable, and what it lacks answers not supported") {
  BindRequest request;
  request.library = test::fake_library("FAKE_HIP_WITHOUT_OPTIONAL");
  const Binding binding = bind_amd(request);
  REQUIRE(binding.status.usable);
  const Api& hip = *binding.api;
  void* pointer = nullptr;
  CHECK(hip.hipMalloc(&pointer, 16) == hipSuccess);
  CHECK(hip.hipFree(pointer) == hipSuccess);
  CHECK(hip.hipMallocManaged(&pointer, 16, hipMemAttachGlobal) == hipErrorNotSupported);
  CHECK(hip.hipLaunchHostFunc(
            nullptr, [](void*) {}, nullptr) == hipErrorNotSupported);
  hipModule_t module = nullptr;
  CHECK(hip.hipModuleLoadData(&module, "x") == hipErrorNotSupported);
  CHECK(hip.hipModuleLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) ==
        hipErrorNotSupported);
  CHECK(hip.hipStreamBeginCapture(nullptr, hipStreamCaptureModeThreadLocal) ==
        hipErrorNotSupported);
  CHECK_FALSE(read_device_names(hip, 0));
}

}  // namespace hiptool::hip
