// SPDX-License-Identifier: MIT
// What needs a kernel, through the shared library and its public headers only: it holds fewer
// kernels than the tool.
#include <doctest/doctest.h>

#include <hiptool/hiptool.hpp>
#include <limits>
#include <string>
#include <vector>

#include "small_model.hpp"
#include "support.hpp"

using namespace hiptool;

namespace {

constexpr std::size_t values = 50'000;
constexpr std::size_t nan_at = 40'001;

/// One tensor of numbers that all differ, but for one NaN.
void write_model(const std::string& path) {
  std::vector<float> numbers(values);
  for (std::size_t i = 0; i < values; ++i) numbers[i] = static_cast<float>(i) + 0.5F;
  numbers[nan_at] = std::numeric_limits<float>::quiet_NaN();
  test::write_small_model(path, {test::float_tensor("w", numbers)});
}

}  // namespace

TEST_CASE("the shared library verifies, proves its verifier and checks values on the device") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "m.safetensors";
  write_model(path);
  Platforms platforms;
  const Device device = test::device(platforms);
  const ModelFile model = ModelFile::open(path);
  LoadOptions options;
  options.verify = VerifyMode::full;
  options.self_test = true;
  options.check_values = true;
  const LoadedModel loaded = load_model(model, device, options);
  const LoadReport& report = loaded.report();
  CHECK(report.status == LoadStatus::verified);
  REQUIRE(report.verification.has_value());
  CHECK(report.verification->mismatch_count == 0);
  CHECK(report.verification->compared_bytes == 4 * values);
  CHECK(report.self_test.size() == 5);
  for (const FaultResult& fault : report.self_test) {
    CAPTURE(to_string(fault.fault));
    CHECK(fault.is_caught);
  }
  REQUIRE(report.values.has_value());
  const ValueCheckResult& checked = *report.values;
  CHECK(checked.checked == values);
  CHECK(checked.nan == 1);
  REQUIRE(checked.findings.size() == 1);
  CHECK(checked.findings.front().first_offset == 4 * nan_at);
}
