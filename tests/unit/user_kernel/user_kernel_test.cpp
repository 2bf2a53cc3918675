// SPDX-License-Identifier: MIT
#include "user_kernel/user_kernel.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>
#include <optional>
#include <thread>

#include "hip/cpu/kernel_table.hpp"
#include "hiptool/error.hpp"
#include "hiptool/platform.hpp"
#include "unit/measure/devices.hpp"

using namespace hiptool;
using namespace hiptool::user_kernel;

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

/// Changes the byte at that place, counted from the buffer's first.
void change_at(void* const* arguments) {
  unsigned char* bytes = nullptr;
  std::int32_t place = 0;
  std::memcpy(&bytes, arguments[0], sizeof(bytes));
  std::memcpy(&place, arguments[1], sizeof(place));
  bytes[place] = static_cast<unsigned char>(~bytes[place]);
}

/// Writes its number to all 8 bytes but those of a bit mask: the first arguments are the buffer,
/// the mask and how often it was launched before, which is where it may differ.
int launches = 0;
int differs_at = -1;
void write_some(void* const* arguments) {
  unsigned char* bytes = nullptr;
  unsigned char left_out = 0;
  std::memcpy(&bytes, arguments[0], sizeof(bytes));
  std::memcpy(&left_out, arguments[1], sizeof(left_out));
  for (int i = 0; i < 8; ++i) {
    if ((left_out >> i & 1) == 0) bytes[i] = static_cast<unsigned char>(i);
  }
  if (launches++ == differs_at) bytes[3] = 99;
}

/// Adds one to each of 8 bytes: the result depends on what was there.
void add_to_all(void* const* arguments) {
  unsigned char* bytes = nullptr;
  std::memcpy(&bytes, arguments[0], sizeof(bytes));
  for (int i = 0; i < 8; ++i) ++bytes[i];
}

std::atomic<bool> is_running{false};
std::atomic<bool> may_end{false};

void wait_until_told(void* const*) {
  is_running = true;
  while (!may_end) std::this_thread::yield();
  is_running = false;
}

Kernel test_kernel(const Device& device, const char* name = "user_kernel_test_add") {
  static const bool is_registered = [] {
    using Arguments = std::vector<hip::cpu::KernelArgument>;
    hip::cpu::register_kernel(
        {"user_kernel_test_add", Arguments{{0, 8, true}, {8, 1, false}}, &add_byte});
    hip::cpu::register_kernel(
        {"user_kernel_test_change", Arguments{{0, 8, true}, {8, 4, false}}, &change_at});
    hip::cpu::register_kernel({"user_kernel_test_wait", Arguments{}, &wait_until_told});
    hip::cpu::register_kernel(
        {"user_kernel_test_some", Arguments{{0, 8, true}, {8, 1, false}}, &write_some});
    hip::cpu::register_kernel({"user_kernel_test_all", Arguments{{0, 8, true}}, &add_to_all});
    return true;
  }();
  static_cast<void>(is_registered);
  const auto image =
      std::as_bytes(std::span(hip::cpu::cpu_image.data(), hip::cpu::cpu_image.size()));
  return Kernel(Module(device, image), name);
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
  CHECK(found.wrong->first_index == 1);
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
  CHECK(exact.wrong->first_index == 1);
  CHECK(exact.wrong->count == 2);  // the sign of zero too
  CHECK(exact.max_error == doctest::Approx(0.5));
  CHECK_FALSE(compare_buffer(ElementType::f32, got, expected, 0.0005).wrong);
  CHECK(compare_buffer(ElementType::f32, got, expected, 0.0004).wrong->count == 1);
  const auto odd = bytes_of<float>({nan, nan, inf, -inf});
  const auto even = bytes_of<float>({-nan, 1.0f, 1.0f, inf});
  const auto found = compare_buffer(ElementType::f32, odd, even, 1e30);
  REQUIRE(found.wrong);
  CHECK(found.wrong->first_index == 1);
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
  CHECK(result.wrong->first_index == 0);
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

TEST_CASE("a second reading that differs from the first is told") {
  test::CpuDevices devices;
  const Kernel kernel = test_kernel(devices[0]);
  // Three copies fill the buffer and its guards, the fourth reads it to be compared.
  devices.table().corrupt_copy(4, 2);
  const UserKernelResult first = run_user_kernel(kernel, add_run());
  REQUIRE(first.wrong);
  CHECK(first.wrong->first_index == 2);
  CHECK(first.wrong->xor_bits == 0xff);
  CHECK_FALSE(first.wrong->reread_agrees);
  CHECK_FALSE(first.is_right());
  REQUIRE(first.outputs.size() == 1);
  CHECK(first.outputs[0].bytes == add_run().expected[0].bytes);
  // The fifth reads it again: then the second reading is the damaged one.
  UserKernelRun run = add_run();
  run.expected[0].bytes[0] = std::byte{4};
  devices.table().corrupt_copy(5, 3);
  const UserKernelResult second = run_user_kernel(kernel, run);
  REQUIRE(second.wrong);
  CHECK(second.wrong->count == 1);
  CHECK_FALSE(second.wrong->reread_agrees);
}

TEST_CASE("writes outside of a buffer are found on both of its sides") {
  Platforms platforms;
  const Kernel kernel = test_kernel(find_device(platforms, "cpu:0"), "user_kernel_test_change");
  struct Case {
    int place;
    std::uint64_t before_bytes;
    std::uint64_t behind_bytes;
  };
  for (const Case& one : {Case{-4096, 1, 0}, Case{-1, 1, 0}, Case{0, 0, 0}, Case{6, 0, 0},
                          Case{7, 0, 1}, Case{4102, 0, 1}}) {
    CAPTURE(one.place);
    UserKernelRun run;
    run.arguments.push_back(parse_kernel_argument("buf:u8:7:iota"));
    run.arguments.push_back(parse_kernel_argument("i32:" + std::to_string(one.place)));
    run.samples = 2;
    const UserKernelResult result = run_user_kernel(kernel, run);
    CHECK(result.is_right() == (one.before_bytes + one.behind_bytes == 0));
    REQUIRE(result.outside.size() == (result.is_right() ? 0 : 1));
    if (result.is_right()) continue;
    CHECK(result.outside[0].argument == 0);
    CHECK(result.outside[0].before_bytes == one.before_bytes);
    CHECK(result.outside[0].behind_bytes == one.behind_bytes);
  }
}

TEST_CASE("repeats begin with poison, and elements that keep it are found") {
  Platforms platforms;
  const Kernel kernel = test_kernel(find_device(platforms, "cpu:0"), "user_kernel_test_some");
  for (const std::uint64_t seed : {1u, 2u, 12345u}) {
    for (const int left_out : {0, 0x24, 0xff}) {
      CAPTURE(seed);
      CAPTURE(left_out);
      UserKernelRun run;
      run.arguments.push_back(parse_kernel_argument("buf:u8:8:poison"));
      run.arguments.push_back(parse_kernel_argument("u8:" + std::to_string(left_out)));
      run.seed = seed;
      run.repeats = 3;
      const UserKernelResult result = run_user_kernel(kernel, run);
      CHECK_FALSE(result.difference);
      CHECK(result.is_right() == (left_out == 0));
      REQUIRE(result.unwritten.size() == (left_out == 0 ? 0 : 1));
      if (left_out == 0) continue;
      CHECK(result.unwritten[0].argument == 0);
      CHECK(result.unwritten[0].count == (left_out == 0x24 ? 2 : 8));
      CHECK(result.unwritten[0].first_index == (left_out == 0x24 ? 2 : 0));
    }
  }
}

TEST_CASE("the digest of repeats is that of the results alone") {
  Platforms platforms;
  const Kernel kernel = test_kernel(find_device(platforms, "cpu:0"), "user_kernel_test_some");
  UserKernelRun run;
  run.arguments.push_back(parse_kernel_argument("buf:u8:8:poison"));
  run.arguments.push_back(parse_kernel_argument("u8:4"));
  run.repeats = 2;
  const auto first = run_user_kernel(kernel, run).digest;
  run.seed = 7;
  REQUIRE(first);
  CHECK(run_user_kernel(kernel, run).digest == first);
  run.arguments[1] = parse_kernel_argument("u8:0");
  CHECK(run_user_kernel(kernel, run).digest != first);
  run.repeats = 1;
  CHECK_FALSE(run_user_kernel(kernel, run).digest);
}

TEST_CASE("a repeat with another result is found") {
  Platforms platforms;
  const Kernel kernel = test_kernel(find_device(platforms, "cpu:0"), "user_kernel_test_some");
  UserKernelRun run;
  run.arguments.push_back(parse_kernel_argument("buf:u8:8:poison"));
  run.arguments.push_back(parse_kernel_argument("u8:0"));
  run.repeats = 3;
  for (const std::uint64_t repeat : {1u, 2u}) {
    launches = 0;
    differs_at = static_cast<int>(repeat);
    const UserKernelResult result = run_user_kernel(kernel, run);
    differs_at = -1;
    CHECK_FALSE(result.is_right());
    REQUIRE(result.difference);
    CHECK(result.difference->repeat == repeat);
    CHECK(result.difference->wrong.argument == 0);
    CHECK(result.difference->wrong.first_index == 3);
    CHECK(result.difference->wrong.count == 1);
    CHECK(std::get<std::uint64_t>(result.difference->wrong.got.data()) == 99);
    CHECK(std::get<std::uint64_t>(result.difference->wrong.expected.data()) == 3);
  }
}

TEST_CASE("a kernel that uses the poison gives other results, given contents the same") {
  Platforms platforms;
  const Kernel kernel = test_kernel(find_device(platforms, "cpu:0"), "user_kernel_test_all");
  UserKernelRun run;
  run.repeats = 2;
  run.arguments.push_back(parse_kernel_argument("buf:u8:8:poison"));
  CHECK(run_user_kernel(kernel, run).difference);
  run.arguments[0] = parse_kernel_argument("buf:u8:8:iota");
  CHECK(run_user_kernel(kernel, run).is_right());
}

TEST_CASE("repeats are in new memory, and in the same where there is no more") {
  test::CpuDevices devices;
  const Kernel kernel = test_kernel(devices[0]);
  UserKernelRun run = add_run();
  run.repeats = 3;
  const std::uint64_t before = devices.table().count("hipMalloc");
  CHECK(run_user_kernel(kernel, run).is_right());
  CHECK(devices.table().count("hipMalloc") == before + 3);
  devices.table().fail("hipMalloc", hip::hipErrorOutOfMemory, 2);
  CHECK(run_user_kernel(kernel, run).is_right());
}

TEST_CASE("caches are flushed before every launch") {
  test::CpuDevices devices;
  const Kernel kernel = test_kernel(devices[0]);
  UserKernelRun run = add_run();
  run.samples = 5;
  const auto fills = [&] { return devices.table().count("hipMemsetAsync"); };
  const std::uint64_t before = fills();
  CHECK(run_user_kernel(kernel, run).flush_bytes == 0);
  CHECK(fills() == before);
  run.is_cold = true;
  const UserKernelResult result = run_user_kernel(kernel, run);
  CHECK(result.is_right());
  CHECK(result.flush_bytes >= 64u << 20);
  CHECK(fills() == before + 6);
  const auto trace = devices.table().trace();
  std::string_view before_launch;
  std::string_view last;
  for (const std::string_view call : trace) {
    if (call == "hipMemsetAsync" || call == "hipMemcpyAsync") last = call;
    if (call == "hipModuleLaunchKernel") before_launch = last;
  }
  CHECK(before_launch == "hipMemsetAsync");
  devices.table().fail("hipMalloc", hip::hipErrorOutOfMemory);
  CHECK_THROWS_WITH_AS(run_user_kernel(kernel, run),
                       doctest::Contains("a cold cache needs another"), Error);
}

TEST_CASE("samples are marked with why the clocks are held down") {
  Platforms platforms;
  const Kernel kernel = test_kernel(find_device(platforms, "cpu:0"));
  UserKernelRun run = add_run();
  run.samples = 4;
  int asked = 0;
  const UserKernelResult result =
      run_user_kernel(kernel, run, [&] { return std::string(++asked == 3 ? "power cap" : ""); });
  CHECK(asked == 5);  // the launch that is checked, and the samples
  CHECK(result.throttle_reasons == std::vector<std::string>{"", "power cap", "", ""});
  run.samples = 1;
  asked = 2;
  CHECK(run_user_kernel(kernel, run, [&] {
          return std::string(++asked == 3 ? "power cap" : "");
        }).throttle_reasons == std::vector<std::string>{"power cap"});
  CHECK(run_user_kernel(kernel, run).throttle_reasons.empty());
}

TEST_CASE("samples are not marked once it is unknown why the clocks are held down") {
  Platforms platforms;
  const Kernel kernel = test_kernel(find_device(platforms, "cpu:0"));
  UserKernelRun run = add_run();
  run.samples = 4;
  int asked = 0;
  const UserKernelResult result = run_user_kernel(kernel, run, [&] {
    return ++asked == 3 ? std::nullopt : std::optional<std::string>("power cap");
  });
  CHECK(asked == 3);  // the driver does not respond: nobody waits for it again
  CHECK(result.samples_s.size() == 4);
  CHECK(result.throttle_reasons.empty());
}

TEST_CASE("cancelled after the first launch, a run returns what it checked and measured") {
  Platforms platforms;
  const Kernel kernel = test_kernel(find_device(platforms, "cpu:0"));
  // A launch that runs while it is cancelled ends as a sample or is left out.
  const auto run_until = [&kernel](UserKernelRun run, int launch) {
    CancelToken cancel;
    run.cancel = &cancel;
    int launches = 0;
    return run_user_kernel(kernel, run, [&]() -> std::string {
      if (++launches == launch) cancel.cancel();
      return {};
    });
  };
  UserKernelRun run = add_run();
  run.samples = 9;
  const UserKernelResult sampled = run_until(run, 5);
  CHECK(sampled.was_interrupted);
  CHECK(sampled.is_right());
  CHECK(sampled.checked > 0);
  CHECK(sampled.outputs.size() == 1);
  CHECK((sampled.samples_s.size() == 3 || sampled.samples_s.size() == 4));
  CHECK(sampled.throttle_reasons.size() == sampled.samples_s.size());
  run.repeats = 5;
  const UserKernelResult repeated = run_until(run, 4);
  CHECK(repeated.was_interrupted);
  CHECK((repeated.repeats == 3 || repeated.repeats == 4));
  CHECK(repeated.samples_s.empty());
  CHECK(repeated.digest);
  CHECK_FALSE(run_user_kernel(kernel, run).was_interrupted);
}

TEST_CASE("a kernel that does not end is left behind when the run is cancelled") {
  Platforms platforms;
  const Kernel kernel = test_kernel(find_device(platforms, "cpu:0"), "user_kernel_test_wait");
  CancelToken cancel;
  UserKernelRun run;
  run.cancel = &cancel;
  std::thread interrupter([&cancel] {
    while (!is_running) std::this_thread::yield();
    cancel.cancel();
  });
  ErrorCode code = ErrorCode::internal;
  try {
    run_user_kernel(kernel, run);
  } catch (const Error& error) {
    code = error.code();
  }
  interrupter.join();
  CHECK(code == ErrorCode::cancelled);
  CHECK(is_running);
  may_end = true;
  while (is_running) std::this_thread::yield();
}
