// SPDX-License-Identifier: MIT
/// Poolings by vendors' libraries, see libraries_test.cpp.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "hiptool/conv.hpp"
#include "hiptool/libraries.hpp"
#include "reference/ops/pool.hpp"
#include "unit/ops/check_images.hpp"
#include "unit/ops/check_operation.hpp"

using namespace hiptool;
using ops::HeightWidth;
using ops::Library;
using reference::Values;
using test::Placement;

namespace {

ops::LibraryStatus pool_status(const Backend& backend) {
  for (const ops::LibraryStatus& one : ops::library_status(backend)) {
    if (one.operation == "pool2d") return one;
  }
  return {};
}

Backend pool_backend(Platforms& platforms, Platform platform) {
  const auto devices = platforms.devices(platform);
  REQUIRE_MESSAGE(!devices.empty(), platforms.status(platform).reason);
  return Backend(devices[0]);
}

Tensor pool_input(const Backend& backend, DType dtype, const Values& values, Placement placement) {
  const Tensor tensor = test::place(backend, dtype, values.dims, placement);
  test::write(backend, tensor, values);
  return tensor;
}

/// One pooling of each kind, compared with the text-book sums.
void check_poolings(const Backend& backend, DType dtype, const HeightWidth& kernel,
                    const HeightWidth& stride, Placement placement) {
  const Values x = test::real_values(dtype, {2, 3, 7, 9}, 3);
  const Tensor input = pool_input(backend, dtype, x, placement);
  test::check_result(
      dtype,
      test::read(backend, ops::avg_pool2d(backend, input, kernel, stride, Library::automatic)),
      reference::avg_pool2d(dtype, x, kernel, stride));
  test::check_result(
      dtype,
      test::read(backend, ops::max_pool2d(backend, input, kernel, stride, Library::automatic)),
      reference::max_pool2d(x, kernel, stride));
}

void check_pool_library(Platform platform, const char* library, const char* fault) {
  Platforms platforms;
  const Backend backend = pool_backend(platforms, platform);
  const Values x = test::real_values(DType::f32, {1, 1, 6, 6}, 4);
  const Tensor input = pool_input(backend, DType::f32, x, Placement::packed);
  static_cast<void>(ops::max_pool2d(backend, input, {2, 2}, {2, 2}));
  CHECK(ops::library_status(backend).empty());  // not asked for
  std::uint64_t calls = 0;
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const auto& [kernel, stride] : std::vector<std::pair<HeightWidth, HeightWidth>>{
             {{2, 3}, {1, 2}}, {{3, 2}, {2, 1}}, {{7, 9}, {1, 1}}}) {
      for (const Placement placement : test::placements) {
        CAPTURE(to_string(dtype));
        CAPTURE(static_cast<int>(placement));
        check_poolings(backend, dtype, kernel, stride, placement);
        CHECK(pool_status(backend).calls == (calls += 2));
      }
    }
  }
  CHECK(pool_status(backend).library == library);
  CHECK(pool_status(backend).other_calls == 0);
  for (const DType dtype : {DType::f64, DType::bf16}) {
    check_poolings(backend, dtype, {2, 2}, {1, 1}, Placement::packed);
  }
  CHECK(pool_status(backend).calls == calls);  // our kernels, without asking

  const auto own = test::read(backend, ops::avg_pool2d(backend, input, {2, 2}, {2, 2}));
  const auto by_library = [&] {
    return test::read(backend, ops::avg_pool2d(backend, input, {2, 2}, {2, 2}, Library::automatic));
  };
  setenv(fault, "block", 1);
  CHECK(by_library() != own);  // a wrong library shows
  setenv(fault, "error", 1);
  CHECK(by_library() == own);  // one that fails is replaced
  unsetenv(fault);
  CHECK(by_library() == own);
  CHECK(pool_status(backend).calls == calls + 1);
  CHECK(pool_status(backend).other_calls == 2);
  CHECK(pool_status(backend).reason.find(library) == 0);
}

}  // namespace

TEST_CASE("nvidia: poolings by cuDNN") {
  check_pool_library(Platform::nvidia, "cuDNN", "FAKE_CUDNN");
}

TEST_CASE("amd: poolings by MIOpen") { check_pool_library(Platform::amd, "MIOpen", "FAKE_MIOPEN"); }

TEST_CASE("none: without a library our kernels pool") {
  Platforms platforms;
  for (const Platform platform : {Platform::nvidia, Platform::amd}) {
    const Backend backend = pool_backend(platforms, platform);
    check_poolings(backend, DType::f32, {2, 2}, {1, 1}, Placement::packed);
    CHECK(pool_status(backend).calls == 0);
    CHECK(pool_status(backend).other_calls == 2);
    CHECK_FALSE(pool_status(backend).reason.empty());
  }
}
