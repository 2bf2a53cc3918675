// SPDX-License-Identifier: MIT
#include "hiptool/stream.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <future>
#include <thread>
#include <utility>

#include "hip/api.hpp"
#include "hiptool/error.hpp"
#include "hiptool/event.hpp"
#include "support.hpp"
#include "unit/core/gate.hpp"
#include "waiting.hpp"

using namespace hiptool;
using hiptool::test::Gate;

TEST_CASE("a stream that waits for an event is ordered after the other stream") {
  Platforms platforms;
  const Device device = test::device(platforms);
  const Stream first(device);
  const Stream second(device);
  Event reached(device, Event::Kind::ordering);
  Gate gate(first);
  reached.record(first);
  second.wait(reached);
  std::promise<void> ran;
  auto ran_future = ran.get_future();
  second.launch_host_function([&ran] { ran.set_value(); });
  CHECK(test::become_idle());
  CHECK(ran_future.wait_for(std::chrono::seconds(0)) == std::future_status::timeout);
  CHECK_FALSE(first.is_done());
  CHECK_FALSE(second.is_done());
  CHECK_FALSE(reached.is_done());
  gate.open();
  second.synchronize();
  CHECK(ran_future.wait_for(std::chrono::seconds(0)) == std::future_status::ready);
  CHECK(reached.is_done());
  first.synchronize();
}

TEST_CASE("moving a stream leaves one owner") {
  Platforms platforms;
  const Device device = test::device(platforms);
  Stream stream(device, Stream::Priority::low);
  void* handle = stream.native_handle();
  Stream moved(std::move(stream));
  CHECK(moved.native_handle() == handle);
  Stream assigned(device, Stream::Priority::high);
  assigned = std::move(moved);
  CHECK(assigned.native_handle() == handle);
  assigned.synchronize();

  Stream again = Stream::take_native(device, assigned.release());
  CHECK(again.native_handle() == handle);
  CHECK(again.is_done());
}

TEST_CASE("a native stream can be borrowed; the null stream is refused") {
  Platforms platforms;
  const Device device = test::device(platforms);
  const Stream owner(device);
  const StreamRef borrowed = StreamRef::borrow_native(device, owner.native_handle());
  CHECK(borrowed == owner);
  borrowed.synchronize();
  CHECK_THROWS_AS(StreamRef::borrow_native(device, nullptr), Error);
}

TEST_CASE("events measure time between streams of a device") {
  Platforms platforms;
  const Device device = test::device(platforms);
  const Stream stream(device);
  Event start(device);
  Event stop(device);
  const auto before = std::chrono::steady_clock::now();
  start.record(stream);
  stream.launch_host_function([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
  stop.record(stream);
  stop.synchronize();
  const double wall_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  const double elapsed_s = stop.elapsed_s(start);
  CHECK(elapsed_s >= 0.0195);
  CHECK(elapsed_s <= wall_s + 0.001);
}

TEST_CASE("events report why there is no time: not recorded, not timed, not reached") {
  Platforms platforms;
  const Device device = test::device(platforms);
  const Stream stream(device);
  Event start(device);
  Event stop(device);
  Event untimed(device, Event::Kind::ordering);
  const auto code_of = [](const Event& to, const Event& from) {
    try {
      static_cast<void>(to.elapsed_s(from));
      return 0;
    } catch (const Error& error) {
      CHECK(error.operation() == "hipEventElapsedTime");
      CHECK(error.is_recoverable() == (error.native()->code == hip::hipErrorNotReady));
      return error.native()->code;
    }
  };
  CHECK(stop.is_done());  // never recorded counts as done
  stop.synchronize();
  CHECK(code_of(stop, start) == hip::hipErrorInvalidHandle);
  start.record(stream);
  untimed.record(stream);
  stream.synchronize();
  CHECK(code_of(untimed, start) == hip::hipErrorInvalidHandle);
  Gate gate(stream);
  stop.record(stream);
  CHECK(code_of(stop, start) == hip::hipErrorNotReady);
  gate.open();
  stop.synchronize();
  CHECK(code_of(stop, start) == 0);
}

TEST_CASE("an event is recorded only on streams of its device") {
  Platforms::Options options;
  options.cpu_devices = 2;
  Platforms platforms(options);
  const auto devices = platforms.devices(Platform::cpu);
  const Stream stream(devices[1]);
  Event event(devices[0]);
  CHECK_THROWS_AS(event.record(stream), Error);
}
