// SPDX-License-Identifier: MIT
#include "core/lost_devices.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <functional>
#include <optional>
#include <thread>

#include "buffer_bytes.hpp"
#include "core/call.hpp"
#include "fake_modules.hpp"
#include "fakes/wrapper_table.hpp"
#include "hip/cpu/kernel_table.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/device.hpp"
#include "hiptool/event.hpp"
#include "hiptool/kernel.hpp"
#include "hiptool/pinned_buffer.hpp"
#include "support.hpp"

using namespace hiptool;

namespace {

constexpr auto illegal_address = hip::hipErrorIllegalAddress;

std::optional<Error> failure_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

std::span<const std::byte> cpu_image() { return std::as_bytes(std::span(hip::cpu::cpu_image)); }

// Two cpu devices behind a table that can be told to fail.
struct LostDevicesFixture {
  std::shared_ptr<test::RecordingTrace> trace = std::make_shared<test::RecordingTrace>();
  std::shared_ptr<test::WrapperBinder> binder =
      std::make_shared<test::WrapperBinder>(std::make_shared<test::FakeModuleBinder>());
  Platforms platforms = core::make_platforms(options(trace), binder);
  std::vector<Device> devices = platforms.devices(Platform::cpu);
  Device device = devices.at(0);
  Device other = devices.at(1);
  test::WrapperTable& table = *binder->table(Platform::cpu);

  static Platforms::Options options(std::shared_ptr<TraceSink> trace) {
    Platforms::Options made;
    made.trace = std::move(trace);
    made.cpu_devices = 2;
    return made;
  }

  // As it happens in a program: a kernel went wrong, and the next wait says so.
  void lose(const StreamRef& stream, hip::hipError_t code = illegal_address) {
    table.fail("hipStreamSynchronize", code);
    const auto error = failure_of([&] { stream.synchronize(); });
    REQUIRE(error.has_value());
    CHECK(error->code() == ErrorCode::device_lost);
    CHECK(error->native()->code == static_cast<int>(code));
  }
};

}  // namespace

TEST_CASE_FIXTURE(LostDevicesFixture,
                  "a lost device gets no calls, and the first failure is named") {
  Buffer buffer(device, 1'000);
  const Buffer second(device, 1'000);
  Buffer foreign(other, 1'000);
  const Stream stream(device);
  Event event(device);
  const Event start(device);
  const Module module(device, cpu_image(), "sample");
  const Kernel kernel(module, "saxpy");
  KernelTimer timer(stream);
  std::vector<std::byte> bytes(1'000);
  lose(stream);

  const std::array<std::pair<const char*, std::function<void()>>, 31> calls{{
      {"memory", [&] { static_cast<void>(device.memory()); }},
      {"start", [&] { device.start(); }},
      {"info", [&] { static_cast<void>(device.info()); }},
      {"guard", [&] { const DeviceGuard guard(device); }},
      {"buffer", [&] { const Buffer made(device, 8); }},
      {"pinned", [&] { PinnedBuffer made(device, 8); }},
      {"pinned by us", [&] { PinnedBuffer made(device, 8, PinnedBuffer::Method::registered); }},
      {"registered", [&] { const RegisteredMemory made(device, bytes); }},
      {"stream", [&] { const Stream made(device); }},
      {"stream of high priority", [&] { const Stream made(device, Stream::Priority::high); }},
      {"event", [&] { const Event made(device); }},
      {"module", [&] { const Module made(device, cpu_image()); }},
      {"kernel", [&] { const Kernel made(module, "other"); }},
      {"timer", [&] { const KernelTimer made(stream); }},
      {"launch",
       [&] {
         launch(kernel, {{1}, {1}}, stream);
       }},
      {"h2d", [&] { copy_h2d(buffer, bytes, stream); }},
      {"d2h", [&] { copy_d2h(bytes, buffer, stream); }},
      {"d2d", [&] { copy_d2d(buffer, second, stream); }},
      {"2d",
       [&] {
         copy_d2d_2d(buffer, {0, 10}, second, {0, 10}, 5, 5, stream);
       }},
      {"peer", [&] { copy_peer(foreign, buffer, stream); }},
      {"fill", [&] { fill(buffer, std::byte{0}, stream); }},
      {"h2d and wait", [&] { copy_h2d_and_wait(buffer, bytes); }},
      {"synchronize", [&] { stream.synchronize(); }},
      {"is_done", [&] { static_cast<void>(stream.is_done()); }},
      {"host function", [&] { stream.launch_host_function([] {}); }},
      {"wait", [&] { stream.wait(event); }},
      {"record", [&] { event.record(stream); }},
      {"event is_done", [&] { static_cast<void>(event.is_done()); }},
      {"elapsed", [&] { static_cast<void>(event.elapsed_s(start)); }},
      {"can access peer", [&] { static_cast<void>(can_access_peer(device, other)); }},
      {"peer access", [&] { enable_peer_access(device, other); }},
  }};
  const std::uint64_t before = table.total_count();
  for (const auto& entry : calls) {
    CAPTURE(entry.first);
    const auto error = failure_of(entry.second);
    REQUIRE(error.has_value());
    CHECK(error->code() == ErrorCode::device_lost);
    CHECK_FALSE(error->is_recoverable());
    CHECK(error->operation() == "hipStreamSynchronize");
    CHECK(error->native()->code == illegal_address);
    CHECK(error->native()->name == "hipErrorIllegalAddress");
    CHECK(std::string(error->what()).starts_with("cpu:0 cannot be used any more since "));
    CHECK(error->object() == device.id());
    CHECK(std::string(error->what()).find("hipErrorIllegalAddress (700)") != std::string::npos);
    CHECK(error->hint().find("new process") != std::string::npos);
    CHECK(table.total_count() == before);
  }
}

TEST_CASE_FIXTURE(LostDevicesFixture, "memory and streams of a lost device are released as usual") {
  const DeviceGuard elsewhere(other);
  {
    const Buffer buffer(device, 1'000);
    PinnedBuffer pinned(device, 1'000);
    PinnedBuffer registered(device, 1'000, PinnedBuffer::Method::registered);
    const Stream stream(device);
    const Event event(device);
    const Module module(device, cpu_image(), "sample");
    lose(stream);
    CHECK_FALSE(table.live().is_empty());
    table.reset();
  }
  // Each of the six makes its device current first and puts the other one back.
  CHECK(table.count("hipSetDevice") == 2 * 6);
  CHECK(table.live().is_empty());
  CHECK(trace->notes().empty());
}

TEST_CASE_FIXTURE(LostDevicesFixture,
                  "work on a lost device is waited for before its memory is released") {
  const Stream stream(device);
  lose(stream);
  const std::uint64_t before = table.count("hipStreamSynchronize");
  core::settle(stream);
  CHECK(table.count("hipStreamSynchronize") == before + 1);
}

TEST_CASE_FIXTURE(LostDevicesFixture,
                  "the other devices stay usable, also for peers of the lost one") {
  const Stream stream(device);
  lose(stream);
  const auto sent = test::random_bytes(1'000, 1);
  Buffer buffer(other, sent.size());
  copy_h2d_and_wait(buffer, sent);
  CHECK(test::bytes_of(buffer) == sent);
  CHECK_FALSE(other.info().arch.empty());
  CHECK(core::is_lost(device));
  CHECK_FALSE(core::is_lost(other));
}

TEST_CASE_FIXTURE(LostDevicesFixture, "every sticky error loses the device, no other one does") {
  for (const int code : {1, 2, 3, 101, 201, 219, 400, 600, 701, 704, 713, 720, 801, 910, 999}) {
    CAPTURE(code);
    const Stream stream(device);
    table.fail("hipStreamSynchronize", static_cast<hip::hipError_t>(code));
    const auto error = failure_of([&] { stream.synchronize(); });
    REQUIRE(error.has_value());
    CHECK(error->code() != ErrorCode::device_lost);
    CHECK_FALSE(core::is_lost(device));
    stream.synchronize();
  }
  for (const int code : {214, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719}) {
    CAPTURE(code);
    Platforms fresh = core::make_platforms(options(trace), binder);
    const Device lost = fresh.devices(Platform::cpu).at(0);
    lose(Stream(lost), static_cast<hip::hipError_t>(code));
    CHECK(core::is_lost(lost));
  }
}

TEST_CASE_FIXTURE(LostDevicesFixture,
                  "a release that fails with a sticky error loses the device too") {
  {
    const Buffer buffer(device, 8);
    table.fail("hipFree", illegal_address);
  }
  REQUIRE(trace->notes().size() == 1);
  CHECK(trace->notes()[0].starts_with("hipFree: failed on cpu:0: hipErrorIllegalAddress (700)"));
  const auto error = failure_of([&] { const Buffer buffer(device, 8); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::device_lost);
  CHECK(error->operation() == "hipFree");
}

TEST_CASE_FIXTURE(LostDevicesFixture, "a sticky error of an attribute ends the queries") {
  table.fail("hipDeviceGetAttribute", illegal_address, 2);
  const DeviceInfo info = device.info();
  CHECK(table.count("hipDeviceGetAttribute") == 2);
  CHECK_FALSE(info.warp_size.has_value());
  CHECK(core::is_lost(device));
}

TEST_CASE_FIXTURE(LostDevicesFixture,
                  "a sticky error of the query for free memory loses the device too") {
  table.fail("hipMalloc", hip::hipErrorOutOfMemory);
  table.fail("hipMemGetInfo", illegal_address);
  const auto error = failure_of([&] { const Buffer buffer(device, 8); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::out_of_memory);
  CHECK(core::is_lost(device));
}

TEST_CASE_FIXTURE(LostDevicesFixture, "of many failures at once one is kept, for all threads") {
  const Stream stream(device);
  table.fail("hipStreamSynchronize", illegal_address, 1, 4);
  table.fail("hipStreamQuery", hip::hipErrorLaunchFailure, 1, 4);
  std::vector<std::string> texts(8);
  {
    std::vector<std::jthread> threads;
    for (std::size_t index = 0; index < texts.size(); ++index) {
      threads.emplace_back([&, index] {
        const bool waits = index % 2 == 0;
        failure_of([&] { waits ? stream.synchronize() : static_cast<void>(stream.is_done()); });
        texts[index] = failure_of([&] { device.start(); })->what();
      });
    }
  }
  for (const std::string& text : texts) CHECK(text == texts.front());
}

TEST_CASE("a lost device does not hide the others from a search") {
  const auto give_bus_id = [](hip::Api& api) {
    api.hipDeviceGetPCIBusId = [](char* text, int size, hip::hipDevice_t ordinal) {
      std::snprintf(text, static_cast<std::size_t>(size), "0000:%02x:00.0", ordinal);
      return hip::hipSuccess;
    };
  };
  class OnlyCpu final : public hip::Binder {
   public:
    explicit OnlyCpu(void (*change)(hip::Api&)) : inner_(change) {}
    hip::Binding bind(Platform platform, const hip::BindRequest& request) override {
      return platform == Platform::cpu ? inner_.bind(platform, request) : hip::Binding{};
    }

   private:
    test::FakeModuleBinder inner_;
  };
  Platforms::Options options;
  options.cpu_devices = 2;
  const auto binder = std::make_shared<test::WrapperBinder>(std::make_shared<OnlyCpu>(give_bus_id));
  Platforms platforms = core::make_platforms(options, binder);
  const Device first = find_device(platforms, "0000:00:00.0");
  CHECK(first.ordinal() == 0);
  binder->table(Platform::cpu)->fail("hipMemGetInfo", illegal_address);
  CHECK_THROWS_AS(first.start(), Error);
  CHECK(find_device(platforms, "0000:01:00.0").ordinal() == 1);
  CHECK(failure_of([&] { static_cast<void>(find_device(platforms, "0000:00:00.0")); })->code() ==
        ErrorCode::unavailable);
}

TEST_CASE("an unknown ordinal is not lost; a failure without a text loses its device") {
  core::LostDevices devices(1);
  devices.mark(7, std::nullopt);
  devices.mark(-1, std::nullopt);
  CHECK_FALSE(devices.is_lost(7));
  CHECK_FALSE(devices.is_lost(-1));
  CHECK_FALSE(devices.is_lost(0));
  devices.mark(0, std::nullopt);
  CHECK(devices.is_lost(0));
  CHECK_FALSE(devices.first_failure(0).has_value());
  devices.mark(0, Error(ErrorCode::device_lost, "late", "late"));
  CHECK_FALSE(devices.first_failure(0).has_value());
}
