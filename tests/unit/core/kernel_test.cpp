// SPDX-License-Identifier: MIT
#include "hiptool/kernel.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <thread>

#include "core/platform_state.hpp"
#include "fake_modules.hpp"
#include "hip/cpu/kernel_table.hpp"
#include "hiptool/error.hpp"
#include "hiptool/event.hpp"
#include "support.hpp"

using namespace hiptool;

namespace {

std::string kernel_failure(const std::function<void()>& function) {
  try {
    function();
  } catch (const Error& error) {
    return std::string(to_string(error.code())) + ": " + error.what();
  }
  return "nothing";
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

struct KernelFixture {
  explicit KernelFixture(Platform platform = Platform::cpu, void (*change)(hip::Api&) = nullptr,
                         int max_threads_per_block = 0, int static_shared_bytes = 0)
      : platforms(core::make_platforms({}, std::make_shared<test::FakeModuleBinder>(change))),
        device(platforms.devices(platform).front()),
        stream(device) {
    test::fake_modules().max_threads_per_block = max_threads_per_block;
    test::fake_modules().static_shared_bytes = static_shared_bytes;
    const std::string_view image =
        platform == Platform::cpu ? hip::cpu::cpu_image : std::string_view("CCOB");
    kernel.emplace(Module(device, std::as_bytes(std::span(image)), "sample"), "saxpy");
  }

  std::string launch_with(const LaunchConfig& config) {
    return kernel_failure([&] { launch(*kernel, config, stream); });
  }

  Platforms platforms;
  Device device;
  Stream stream;
  std::optional<Kernel> kernel;
};

}  // namespace

TEST_CASE("arguments arrive as copies, buffers as their addresses") {
  KernelFixture fixture;
  test::fake_modules().arguments = 4;
  const Buffer buffer(fixture.device, 64);
  std::uint64_t count = 7;
  launch(*fixture.kernel, {{3}, {64}, 16}, fixture.stream, buffer, count,
         static_cast<const void*>(&count), nullptr);
  count = 8;
  REQUIRE(test::fake_modules().launches.size() == 1);
  const test::FakeLaunch& seen = test::fake_modules().launches.front();
  CHECK(seen.kernel == "saxpy");
  CHECK(seen.grid_x == 3);
  CHECK(seen.block_x == 64);
  CHECK(seen.shared_bytes == 16);
  CHECK(seen.arguments[0] == reinterpret_cast<std::uint64_t>(buffer.address()));
  CHECK(seen.arguments[1] == 7);
  CHECK(seen.arguments[2] == reinterpret_cast<std::uint64_t>(&count));
  CHECK(seen.arguments[3] == 0);
}

TEST_CASE("limits of the device, one below, at and above") {
  KernelFixture fixture;  // the cpu platform: 1024 threads, 227 KiB, grid 2^31-1 by 65535 by 65535
  struct Case {
    LaunchConfig config;
    std::string_view complaint;
  };
  const Case cases[] = {
      {{{1}, {1023}}, ""},
      {{{1}, {1024}}, ""},
      {{{1}, {1025}}, "block.x is 1025, at most 1024"},
      {{{1}, {1, 1025}}, "block.y is 1025, at most 1024"},
      {{{1}, {1, 1, 1025}}, "block.z is 1025, at most 1024"},
      {{{1}, {32, 32, 1}}, ""},
      {{{1}, {32, 33, 1}}, "threads in a block is 1056, at most 1024"},
      {{{1}, {2, 2, 257}}, "threads in a block is 1028, at most 1024"},
      {{{2147483647}, {1}}, ""},
      {{{2147483648}, {1}}, "grid.x is 2147483648, at most 2147483647"},
      {{{1, 65535, 65535}, {1}}, ""},
      {{{1, 65536}, {1}}, "grid.y is 65536, at most 65535"},
      {{{1, 1, 65536}, {1}}, "grid.z is 65536, at most 65535"},
      {{{0}, {1}}, "grid.x is 0, at least 1"},
      {{{1, 0}, {1}}, "grid.y is 0, at least 1"},
      {{{1, 1, 0}, {1}}, "grid.z is 0, at least 1"},
      {{{1}, {0}}, "block.x is 0, at least 1"},
      {{{1}, {1, 0}}, "block.y is 0, at least 1"},
      {{{1}, {1, 1, 0}}, "block.z is 0, at least 1"},
      {{{1}, {1}, 232447}, ""},
      {{{1}, {1}, 232448}, ""},
      {{{1}, {1}, 232449}, "shared memory of a block is 232449, at most 232448"},
      {{{1}, {1}, std::numeric_limits<std::uint32_t>::max()}, "at most 232448"},
  };
  std::size_t launched = 0;
  for (const Case& example : cases) {
    CAPTURE(std::string(example.complaint));
    const std::string answer = fixture.launch_with(example.config);
    if (example.complaint.empty()) {
      CHECK(answer == "nothing");
      ++launched;
    } else {
      CHECK(contains(answer, "invalid_argument"));
      CHECK(contains(answer, "kernel 'saxpy'"));
      CHECK(contains(answer, example.complaint));
    }
    CHECK(test::fake_modules().launches.size() == launched);
  }
}

TEST_CASE("a launch beyond a limit is answered with what to change") {
  KernelFixture fixture;
  const auto hint_of = [&](const LaunchConfig& config) -> std::string {
    try {
      launch(*fixture.kernel, config, fixture.stream);
    } catch (const Error& error) {
      return error.hint();
    }
    return "nothing";
  };
  CHECK(hint_of({{1}, {4096}}) == "use smaller blocks and a larger grid");
  CHECK(contains(hint_of({{1, 65536}, {1}}), "use a smaller grid"));
  CHECK(hint_of({{1}, {1}, 232449}) == "use less shared memory");
  CHECK(hint_of({{1}, {0}}) == "give 1 for a dimension that is not needed");
}

TEST_CASE("limits of the kernel count too") {
  KernelFixture fixture(Platform::cpu, nullptr, 256, 1000);
  CHECK(fixture.kernel->max_threads_per_block() == 256);
  CHECK(fixture.kernel->static_shared_bytes() == 1000);
  CHECK(fixture.launch_with({{1}, {256}}) == "nothing");
  CHECK(contains(fixture.launch_with({{1}, {257}}), "is 257, at most 256"));
  CHECK(fixture.launch_with({{1}, {1}, 231448}) == "nothing");
  CHECK(contains(fixture.launch_with({{1}, {1}, 231449}), "is 232449, at most 232448"));
}

TEST_CASE("amd counts the threads of an axis in 32 bits") {
  KernelFixture fixture(Platform::amd);
  CHECK(fixture.launch_with({{16777215}, {256}}) == "nothing");
  CHECK(contains(fixture.launch_with({{16777216}, {256}}),
                 "grid.x times block.x is 4294967296, at most 4294967295"));
}

TEST_CASE("an unknown attribute of the device is no limit") {
  KernelFixture fixture(Platform::cpu, [](hip::Api& api) {
    api.hipDeviceGetAttribute = [](int*, hip::hipDeviceAttribute_t, int) {
      return hip::hipErrorInvalidValue;
    };
  });
  const std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
  CHECK(fixture.launch_with({{most, most, most}, {most, most, most}, most}) == "nothing");
}

TEST_CASE("a failed launch names kernel, code, grid and block") {
  KernelFixture fixture;
  test::fake_modules().launch_error = hip::hipErrorLaunchOutOfResources;
  const std::string answer = fixture.launch_with({{3, 2}, {64}, 8});
  CHECK(contains(answer, "hipModuleLaunchKernel of kernel 'saxpy', grid 3 x 2 x 1, block 64 x 1"));
  CHECK(contains(answer, "(701)"));
}

TEST_CASE("a stream of another device is refused") {
  Platforms::Options options;
  options.cpu_devices = 2;
  Platforms two = core::make_platforms(options, std::make_shared<test::FakeModuleBinder>());
  KernelFixture fixture;
  const Stream other(two.devices(Platform::cpu).at(1));
  CHECK(
      contains(kernel_failure([&] { launch(*fixture.kernel, {}, other); }), "the stream on cpu:1"));
}

TEST_CASE("HIP_LAUNCH_BLOCKING reports an error at its own launch") {
  setenv("HIP_LAUNCH_BLOCKING", "1", 1);
  KernelFixture blocking(Platform::cpu, [](hip::Api& api) {
    api.hipStreamSynchronize = [](hip::hipStream_t) { return hip::hipErrorIllegalAddress; };
  });
  unsetenv("HIP_LAUNCH_BLOCKING");
  const std::string answer = blocking.launch_with({{3}, {64}});
  CHECK(contains(answer, "device_lost"));
  CHECK(contains(answer, "kernel 'saxpy', grid 3 x 1 x 1"));
  CHECK(contains(answer, "HIP_LAUNCH_BLOCKING"));
  KernelFixture plain;
  CHECK(plain.launch_with({{3}, {64}}) == "nothing");
}

TEST_CASE("a timer needs start, stop and read in this order, any number of times") {
  KernelFixture fixture;
  KernelTimer timer(fixture.stream);
  CHECK(timer.is_device_time());
  CHECK(contains(kernel_failure([&] { timer.stop(); }),
                 "invalid_argument: the timer was not started"));
  CHECK(contains(kernel_failure([&] { static_cast<void>(timer.elapsed_s()); }), "was not started"));
  for (int round = 0; round < 2; ++round) {
    const test::Stopwatch wall;
    timer.start();
    CHECK(
        contains(kernel_failure([&] { static_cast<void>(timer.elapsed_s()); }), "was not stopped"));
    timer.stop();
    CHECK(contains(kernel_failure([&] { timer.stop(); }), "was not started"));
    const double elapsed_s = timer.elapsed_s();
    CHECK((elapsed_s >= 0 && elapsed_s <= wall.elapsed_s() + test::event_slack_s));
  }
}

TEST_CASE("a timer measures work of the stream, with events and without") {
  const auto without_events = [](hip::Api& api) {
    api.hipEventCreateWithFlags = [](hip::hipEvent_t*, unsigned) {
      return hip::hipErrorNotSupported;
    };
  };
  for (const bool has_events : {true, false}) {
    CAPTURE(has_events);
    KernelFixture fixture(Platform::cpu, has_events ? nullptr : +without_events);
    KernelTimer timer(fixture.stream);
    CHECK(timer.is_device_time() == has_events);
    const auto start = std::chrono::steady_clock::now();
    timer.start();
    fixture.stream.launch_host_function(
        [] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); });
    timer.stop();
    CHECK(timer.elapsed_s() > 0.045);
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    CHECK(timer.elapsed_s() <= wall.count() + 0.001);
  }
}
