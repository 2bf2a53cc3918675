// SPDX-License-Identifier: MIT
#include "hip/api.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace hiptool::hip {

TEST_CASE("every call of the table is listed once under its own name") {
  std::set<std::string_view> names;
  Api::for_each([&](auto, std::string_view name, Need) {
    CHECK(name.substr(0, 3) == "hip");
    CHECK(names.insert(name).second);
  });
  CHECK(names.size() == sizeof(Api) / sizeof(void (*)()));
  CHECK(call_name<&Api::hipMalloc>() == "hipMalloc");
  CHECK(call_name<&Api::hipFree>() == "hipFree");
  CHECK(call_name<&Api::hipFuncGetAttribute>() == "hipFuncGetAttribute");
}

TEST_CASE("the members stand in the order of their offsets, so none is listed twice") {
  const Api api{};
  const char* last = nullptr;
  Api::for_each([&](auto member, std::string_view name, Need) {
    CAPTURE(std::string(name));
    const char* at = reinterpret_cast<const char*>(&(api.*member));
    CHECK(at > last);
    last = at;
  });
}

TEST_CASE("the unsupported table can be called and says so") {
  const Api api = make_unsupported_api();
  CHECK(api.hipMalloc(nullptr, 1) == hipErrorNotSupported);
  CHECK(api.hipEventElapsedTime(nullptr, nullptr, nullptr) == hipErrorNotSupported);
  CHECK(std::string(api.hipGetErrorName(hipSuccess)) == "unknown");
}

}  // namespace hiptool::hip
