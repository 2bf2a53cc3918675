// SPDX-License-Identifier: MIT
/// A driver that has only what the platform cannot do without, and the traps of the real one.
#include <doctest/doctest.h>

#include "base/dynamic_library.hpp"
#include "hip/api.hpp"
#include "hip/binding.hpp"
#include "unit/hip/temporary_tree.hpp"

namespace hiptool::hip {

TEST_CASE("the names without _v2 are CUDA 3's, which answer 201 whatever is current") {
  std::string error;
  const auto driver = base::DynamicLibrary::open(test::fake_library("FAKE_CUDA"), error);
  REQUIRE(driver);
  for (const char* name : {"cuMemAlloc", "cuMemFree", "cuDeviceTotalMem", "cuStreamDestroy"}) {
    CAPTURE(name);
    const auto old = driver->function<int (*)()>(name);
    REQUIRE((old != nullptr));
    CHECK(old() == hipErrorInvalidContext);
    CHECK(driver->symbol((std::string(name) + "_v2").c_str()) != nullptr);
  }
}

TEST_CASE("before cuInit nothing works but versions and error names") {
  std::string error;
  const auto driver = base::DynamicLibrary::open(test::fake_library("FAKE_CUDA"), error);
  REQUIRE(driver);
  int value = 0;
  CHECK(driver->function<int (*)(int*)>("cuDeviceGetCount")(&value) == hipErrorNotInitialized);
  CHECK(driver->function<int (*)(int*)>("cuDriverGetVersion")(&value) == hipSuccess);
  const char* text = "";
  const auto name = driver->function<int (*)(int, const char**)>("cuGetErrorName");
  CHECK(name(12345, &text) == hipErrorInvalidValue);
  CHECK(text == nullptr);
  CHECK(name(209, &text) == hipSuccess);
  CHECK(std::string(text) == "CUDA_ERROR_NO_BINARY_FOR_GPU");
}

TEST_CASE("it is usable, and what it lacks answers not supported") {
  BindRequest request;
  request.library = test::fake_library("FAKE_CUDA_WITHOUT_OPTIONAL");
  const Binding binding = bind_nvidia(request);
  REQUIRE(binding.status.usable);
  const Api& hip = *binding.api;
  int can_access = 0;
  CHECK(hip.hipDeviceCanAccessPeer(&can_access, 0, 1) == hipErrorNotSupported);
  CHECK(hip.hipLaunchHostFunc(
            nullptr, [](void*) {}, nullptr) == hipErrorNotSupported);
  // Without cuStreamGetCtx the thread's device is the stream's.
  hipStream_t stream = nullptr;
  void* pointer = nullptr;
  REQUIRE(hip.hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) == hipSuccess);
  CHECK(hip.hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal) == hipErrorNotSupported);
  REQUIRE(hip.hipMalloc(&pointer, 16) == hipSuccess);
  CHECK(hip.hipMemsetAsync(pointer, 1, 16, stream) == hipSuccess);
  CHECK(hip.hipStreamSynchronize(stream) == hipSuccess);
  CHECK(hip.hipFree(pointer) == hipSuccess);
  CHECK(hip.hipStreamDestroy(stream) == hipSuccess);
  CHECK(std::string(hip.hipGetErrorName(static_cast<hipError_t>(803))) == "hipErrorUnknown");
}

}  // namespace hiptool::hip
