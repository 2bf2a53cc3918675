// SPDX-License-Identifier: MIT
#include "measure/user_kernel.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>

#include "hip/cpu/kernel_table.hpp"
#include "hiptool/error.hpp"
#include "hiptool/platform.hpp"

using namespace hiptool;
using namespace hiptool::measure;

namespace {

template <class Number>
std::vector<std::byte> bytes_of(const std::vector<Number>& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

int stale_launches = 0;  // whose buffer was not as it was given

/// Adds the second argument to the first byte of the buffer, which begins with zero.
void add_byte(void* const* arguments) {
  unsigned char* bytes = nullptr;
  unsigned char added = 0;
  std::memcpy(&bytes, arguments[0], sizeof(bytes));
  std::memcpy(&added, arguments[1], sizeof(added));
  if (bytes[0] != 0) ++stale_launches;
  bytes[0] = static_cast<unsigned char>(bytes[0] + added);
}

Kernel test_kernel(const Device& device) {
  static const bool is_registered = [] {
    const std::vector<hip::cpu::KernelArgument> arguments{{0, 8, true}, {8, 1, false}};
    hip::cpu::register_kernel({"user_kernel_test_add", arguments, &add_byte});
    return true;
  }();
  static_cast<void>(is_registered);
  const auto image =
      std::as_bytes(std::span(hip::cpu::cpu_image.data(), hip::cpu::cpu_image.size()));
  return Kernel(Module(device, image), "user_kernel_test_add");
}

UserKernelRun add_run() {
  UserKernelRun run;
  run.arguments.push_back(parse_kernel_argument("buf:u8:4:iota"));
  run.arguments.push_back(parse_kernel_argument("u8:5"));
  run.expected.push_back({0, bytes_of<std::uint8_t>({5, 1, 2, 3})});
  run.outputs = {0};
  return run;
}

}  // namespace

TEST_CASE("whole numbers are compared byte by byte") {
  const auto got = bytes_of<std::int32_t>({1, -2, 3, 4});
  const auto same = compare_buffer(ElementType::i32, got, got, 100.0);
  CHECK_FALSE(same.wrong);
  CHECK_FALSE(same.max_error);
  const auto found =
      compare_buffer(ElementType::i32, got, bytes_of<std::int32_t>({1, 2, 3, 5}), 100.0);
  REQUIRE(found.wrong);
  CHECK(found.wrong->first_bad_index == 1);
  CHECK(found.wrong->count == 2);
  CHECK(std::get<std::int64_t>(found.wrong->expected.data()) == 2);
  CHECK(std::get<std::int64_t>(found.wrong->got.data()) == -2);
  CHECK(found.wrong->xor_bits == (0xfffffffeu ^ 2u));
}

TEST_CASE("reals: exact without a tolerance, within it with one") {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto got = bytes_of<float>({1.0f, 1000.5f, 0.0f, inf});
  const auto expected = bytes_of<float>({1.0f, 1000.0f, -0.0f, inf});
  const auto exact = compare_buffer(ElementType::f32, got, expected, std::nullopt);
  REQUIRE(exact.wrong);
  CHECK(exact.wrong->first_bad_index == 1);
  CHECK(exact.wrong->count == 2);  // the sign of zero too
  CHECK(exact.max_error == doctest::Approx(0.5));
  CHECK_FALSE(compare_buffer(ElementType::f32, got, expected, 0.0005).wrong);
  CHECK(compare_buffer(ElementType::f32, got, expected, 0.0004).wrong->count == 1);
  const auto odd = bytes_of<float>({nan, nan, inf, -inf});
  const auto even = bytes_of<float>({-nan, 1.0f, 1.0f, inf});
  const auto found = compare_buffer(ElementType::f32, odd, even, 1e30);
  REQUIRE(found.wrong);
  CHECK(found.wrong->first_bad_index == 1);
  CHECK(found.wrong->count == 3);
}

TEST_CASE("the first launch is checked, and samples begin with fresh buffers") {
  Platforms platforms;
  const Kernel kernel = test_kernel(find_device(platforms, "cpu:0"));
  for (const std::uint64_t samples : {1u, 5u}) {
    UserKernelRun run = add_run();
    run.samples = samples;
    const UserKernelResult result = run_user_kernel(kernel, run);
    CHECK_FALSE(result.wrong);
    CHECK(stale_launches == 0);
    CHECK(result.checked == 4);
    CHECK(result.samples_s.size() == samples);
    REQUIRE(result.outputs.size() == 1);
    CHECK(result.outputs[0].bytes == run.expected[0].bytes);
  }
}

TEST_CASE("a wrong result is found, and reading again agrees") {
  Platforms platforms;
  const Kernel kernel = test_kernel(find_device(platforms, "cpu:0"));
  UserKernelRun run = add_run();
  run.expected[0].bytes[0] = std::byte{4};
  const UserKernelResult result = run_user_kernel(kernel, run);
  REQUIRE(result.wrong);
  CHECK(result.wrong->argument == 0);
  CHECK(result.wrong->first_bad_index == 0);
  CHECK(result.wrong->xor_bits == 1);
  CHECK(result.wrong->count == 1);
  CHECK(result.wrong->reread_agrees);
}

TEST_CASE("a bad launch and a cancelled run end with their errors") {
  Platforms platforms;
  const Kernel kernel = test_kernel(find_device(platforms, "cpu:0"));
  UserKernelRun run = add_run();
  run.config.block = {2000, 1, 1};
  CHECK_THROWS_AS(run_user_kernel(kernel, run), Error);
  run = add_run();
  run.samples = 3;
  CancelToken cancel;
  cancel.cancel();
  run.cancel = &cancel;
  CHECK_THROWS_AS(run_user_kernel(kernel, run), Error);
}
