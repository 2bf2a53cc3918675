// SPDX-License-Identifier: MIT
#include "hip/amd/last_error.hpp"

#include <doctest/doctest.h>

#include <thread>

namespace hiptool::hip::amd {
namespace {

/// A runtime from before 7.0, whose last error is what the last call answered.
Api make_old_runtime() {
  Api api = make_unsupported_api();
  api.hipGetLastError = [] { return hipErrorNotReady; };
  api.hipMalloc = [](void**, std::size_t) { return hipErrorOutOfMemory; };
  api.hipFree = [](void*) { return hipSuccess; };
  api.hipStreamQuery = [](hipStream_t) { return hipErrorNotReady; };
  api.hipSetDevice = [](int) { return hipErrorInvalidDevice; };
  api.hipGetErrorName = [](hipError_t) { return "a name"; };
  return api;
}

}  // namespace

TEST_CASE("only a real error is kept, for its thread and until it is read") {
  Api api = make_old_runtime();
  keep_last_error(api);
  CHECK(api.hipGetLastError() == hipSuccess);
  CHECK(api.hipMalloc(nullptr, 1) == hipErrorOutOfMemory);
  CHECK(api.hipFree(nullptr) == hipSuccess);
  CHECK(api.hipStreamQuery(nullptr) == hipErrorNotReady);
  std::thread([&] {
    CHECK(api.hipGetLastError() == hipSuccess);
    CHECK(api.hipSetDevice(9) == hipErrorInvalidDevice);
  }).join();
  CHECK(api.hipGetLastError() == hipErrorOutOfMemory);
  CHECK(api.hipGetLastError() == hipSuccess);
}

TEST_CASE("every call keeps its place in the table") {
  // Calls of one type are told apart by their place among those, so each must answer as before.
  Api api = make_old_runtime();
  api.hipHostFree = [](void*) { return hipErrorInvalidValue; };
  api.hipHostUnregister = [](void*) { return hipErrorHostMemoryNotRegistered; };
  keep_last_error(api);
  CHECK(api.hipFree(nullptr) == hipSuccess);
  CHECK(api.hipHostFree(nullptr) == hipErrorInvalidValue);
  CHECK(api.hipHostUnregister(nullptr) == hipErrorHostMemoryNotRegistered);
  CHECK(api.hipGetLastError() == hipErrorHostMemoryNotRegistered);
  CHECK(api.hipDeviceSynchronize() == hipErrorNotSupported);
  CHECK(std::string_view(api.hipGetErrorName(hipSuccess)) == "a name");
}

}  // namespace hiptool::hip::amd
