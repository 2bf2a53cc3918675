// SPDX-License-Identifier: MIT
/// Poolings of the fake libraries, judged as those of real ones are.
#include <doctest/doctest.h>

#include <cstdlib>
#include <vector>

#include "measure/ops/operation.hpp"
#include "measure/ops/sweep.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace hiptool::measure;

namespace {

std::vector<KernelResult> judged_poolings(Platform platform) {
  Platforms platforms;
  const auto devices = platforms.devices(platform);
  REQUIRE_MESSAGE(!devices.empty(), platforms.status(platform).reason);
  const std::vector<OperationEntry> poolings = library_pool_operations();
  SweepOptions options;
  options.operations = &poolings;
  return sweep_operations(options, devices[0]);
}

void check_judged(Platform platform, const char* fault) {
  const std::vector<KernelResult> right = judged_poolings(platform);
  REQUIRE(right.size() == 4);
  for (const KernelResult& one : right) {
    CAPTURE(one.kernel);
    CAPTURE(one.dtype);
    CAPTURE(one.reason);
    CHECK(one.status == report::Status::ok);
    CHECK(one.checked > 1000);
  }
  setenv(fault, "block", 1);
  for (const KernelResult& one : judged_poolings(platform)) {
    CHECK(one.status == report::Status::mismatch);
  }
  setenv(fault, "error", 1);
  for (const KernelResult& one : judged_poolings(platform)) {
    CHECK(one.status == report::Status::skipped);
    CHECK_FALSE(one.reason.empty());
  }
  unsetenv(fault);
}

}  // namespace

TEST_CASE("nvidia: poolings by cuDNN are right, wrong or not computed") {
  check_judged(Platform::nvidia, "FAKE_CUDNN");
}

TEST_CASE("amd: poolings by MIOpen are right, wrong or not computed") {
  check_judged(Platform::amd, "FAKE_MIOPEN");
}
