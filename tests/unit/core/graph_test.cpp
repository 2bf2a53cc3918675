// SPDX-License-Identifier: MIT
#include "hiptool/graph.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "hiptool/buffer.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "unit/core/wrapped_device.hpp"

using namespace hiptool;
using hiptool::test::WrappedDevice;

namespace {

constexpr std::size_t size = 1000;

struct Filled {
  Filled() : stream(wrapped.device()), buffer(wrapped.device(), size) { write(0); }

  void write(int value) {
    fill(buffer, static_cast<std::byte>(value), stream);
    stream.synchronize();
  }
  std::vector<std::byte> bytes() const {
    std::vector<std::byte> read(size);
    copy_d2h_and_wait(read, buffer);
    return read;
  }
  Graph record(const std::string& name = "fill") {
    return Graph(wrapped.device(), name,
                 [&](const StreamRef& recording) { fill(buffer, std::byte{7}, recording); });
  }

  WrappedDevice wrapped;
  Stream stream;
  Buffer buffer;
};

Error error_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const Error& error) {
    return error;
  }
  throw std::logic_error("no error");
}

std::vector<std::byte> all_of(int value) { return {size, static_cast<std::byte>(value)}; }

}  // namespace

TEST_CASE("a graph does what was recorded at each launch, by one call, and is freed") {
  Filled filled;
  const auto live = filled.wrapped.table().live();
  {
    const Graph graph = filled.record();
    CHECK(graph.name() == "fill");
    CHECK(graph.device() == filled.wrapped.device());
    CHECK(graph.native_handle() != nullptr);
    CHECK(filled.bytes() == all_of(0));
    for (int round = 0; round < 2; ++round) {
      filled.write(1);
      filled.wrapped.table().reset();
      graph.launch(filled.stream);
      CHECK(filled.wrapped.table().count("hipGraphLaunch") == 1);
      CHECK(filled.wrapped.table().count("hipMemsetAsync") == 0);
      filled.stream.synchronize();
      CHECK(filled.bytes() == all_of(7));
    }
    CHECK((filled.wrapped.table().live() - live).graphs == 1);  // the recorded one is gone
  }
  CHECK((filled.wrapped.table().live() - live).is_empty());
}

TEST_CASE(
    "where the runtime records nothing the work is not queued, and the error is unsupported") {
  Filled filled;
  filled.wrapped.table().fail("hipStreamBeginCapture", hip::hipErrorNotSupported);
  bool was_called = false;
  const Error error = error_of([&] {
    const Graph graph(filled.wrapped.device(), "fill",
                      [&](const StreamRef&) { was_called = true; });
  });
  CHECK(error.code() == ErrorCode::unsupported);
  CHECK_FALSE(was_called);
}

TEST_CASE("an error of recorded work is its own, and leaves nothing behind") {
  Filled filled;
  const auto live = filled.wrapped.table().live();
  SUBCASE("of a call") {
    filled.wrapped.table().fail("hipMemsetAsync", hip::hipErrorUnknown);
    CHECK(error_of([&] { filled.record(); }).operation() == "hipMemsetAsync");
  }
  SUBCASE("of the function") {
    const auto record = [&] {
      const Graph graph(filled.wrapped.device(), "broken", [&](const StreamRef& recording) {
        fill(filled.buffer, std::byte{7}, recording);
        throw std::runtime_error("broken");
      });
    };
    CHECK_THROWS_AS(record(), std::runtime_error);
  }
  CHECK((filled.wrapped.table().live() - live).is_empty());
  filled.write(5);
  CHECK(filled.bytes() == all_of(5));
}

TEST_CASE("errors of a graph name it") {
  Filled filled;
  const auto live = filled.wrapped.table().live();
  for (const char* call :
       {"hipStreamBeginCapture", "hipStreamEndCapture", "hipGraphInstantiateWithFlags"}) {
    CAPTURE(call);
    filled.wrapped.table().fail(call, hip::hipErrorUnknown);
    const Error error = error_of([&] { filled.record("of a token"); });
    CHECK(error.operation() == call);
    CHECK(std::string(error.what()).find("graph 'of a token'") != std::string::npos);
    CHECK((filled.wrapped.table().live() - live).is_empty());
  }
  const Graph graph = filled.record("of a token");
  filled.wrapped.table().fail("hipGraphLaunch", hip::hipErrorUnknown);
  const Error error = error_of([&] { graph.launch(filled.stream); });
  CHECK(error.operation() == "hipGraphLaunch");
  CHECK(std::string(error.what()).find("graph 'of a token'") != std::string::npos);
}

TEST_CASE("a graph belongs to its device, and to one owner") {
  Filled filled;
  Graph graph = filled.record();
  Platforms::Options options;
  options.cpu_devices = 2;
  Platforms platforms(options);
  const Stream elsewhere(platforms.devices(Platform::cpu).back());
  CHECK(error_of([&] { graph.launch(elsewhere); }).code() == ErrorCode::invalid_argument);
  const Graph moved = std::move(graph);
  CHECK(error_of([&] { graph.launch(filled.stream); }).code() == ErrorCode::invalid_argument);
  moved.launch(filled.stream);
  filled.stream.synchronize();
  CHECK(filled.bytes() == all_of(7));
}
