// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstring>
#include <utility>

#include "under_test.hpp"

namespace hiptool::conformance {
namespace {

using namespace hip;

TEST_CASE("copies: nothing to copy succeeds and changes nothing") {
  const DeviceMemory memory(64);
  memory.fill(9);
  const Bytes other(64, 1);
  const Stream stream;
  CHECK(api().hipMemcpyAsync(memory.at(), other.data(), 0, hipMemcpyHostToDevice, stream.get()) ==
        hipSuccess);
  REQUIRE(finishes(stream.get()));
  CHECK(memory.read() == Bytes(64, 9));
}

TEST_CASE("copies: a kind that does not exist is an invalid direction") {
  const DeviceMemory memory(64);
  const Bytes other(64, 1);
  const auto wrong = static_cast<hipMemcpyKind>(77);
  const Stream stream;
  CHECK(api().hipMemcpyAsync(memory.at(), other.data(), 64, wrong, stream.get()) ==
        hipErrorInvalidMemcpyDirection);
}

TEST_CASE("copies: missing pointers are invalid values") {
  const DeviceMemory memory(64);
  const Stream stream;
  CHECK(api().hipMemcpyAsync(nullptr, memory.at(), 64, hipMemcpyDeviceToHost, stream.get()) ==
        hipErrorInvalidValue);
  CHECK(api().hipMemcpyAsync(memory.at(), nullptr, 64, hipMemcpyHostToDevice, stream.get()) ==
        hipErrorInvalidValue);
}

TEST_CASE("copies: the default kind finds the direction itself") {
  const DeviceMemory first(5001);
  const DeviceMemory second(5001);
  const Bytes sent = random_bytes(5001, 30);
  Bytes received(5001);
  const Stream stream;
  const auto copy = [&stream](void* to, const void* from, hipMemcpyKind kind) {
    REQUIRE(api().hipMemcpyAsync(to, from, 5001, kind, stream.get()) == hipSuccess);
    REQUIRE(finishes(stream.get()));
  };
  copy(first.at(), sent.data(), hipMemcpyDefault);
  copy(second.at(), first.at(), hipMemcpyDefault);
  copy(received.data(), second.at(), hipMemcpyDefault);
  CHECK(received == sent);
  Bytes host_only(5001);
  copy(host_only.data(), sent.data(), hipMemcpyHostToHost);
  CHECK(host_only == sent);
}

struct Rectangle {
  std::size_t width;
  std::size_t height;
  std::size_t from_pitch;
  std::size_t to_pitch;
};

Bytes reference_2d(const Bytes& from, Bytes to, const Rectangle& shape) {
  for (std::size_t row = 0; row < shape.height; ++row) {
    std::memcpy(to.data() + row * shape.to_pitch, from.data() + row * shape.from_pitch,
                shape.width);
  }
  return to;
}

TEST_CASE("copies: rectangles to the device and back match the host's own copy") {
  constexpr std::size_t area = 300 * 300;
  const Stream stream;
  const PinnedMemory host(area);
  const Bytes source = random_bytes(area, 40);
  const Bytes background = random_bytes(area, 41);
  for (const Rectangle& shape :
       {Rectangle{1, 1, 1, 1}, Rectangle{7, 13, 7, 7}, Rectangle{100, 50, 131, 256},
        Rectangle{255, 299, 300, 256}, Rectangle{300, 1, 300, 300}, Rectangle{1, 300, 256, 3}}) {
    CAPTURE(shape.width);
    CAPTURE(shape.height);
    const DeviceMemory memory(area);
    memory.write(background);
    host.write(source);
    REQUIRE(api().hipMemcpy2DAsync(memory.at(), shape.to_pitch, host.data(), shape.from_pitch,
                                   shape.width, shape.height, hipMemcpyHostToDevice,
                                   stream.get()) == hipSuccess);
    REQUIRE(finishes(stream.get()));
    const Bytes on_device = reference_2d(source, background, shape);
    CHECK(memory.read() == on_device);

    host.write(background);
    const Rectangle back{shape.width, shape.height, shape.to_pitch, shape.from_pitch};
    REQUIRE(api().hipMemcpy2DAsync(host.data(), back.to_pitch, memory.at(), back.from_pitch,
                                   back.width, back.height, hipMemcpyDeviceToHost,
                                   stream.get()) == hipSuccess);
    REQUIRE(finishes(stream.get()));
    CHECK(host.read(area) == reference_2d(on_device, background, back));
  }
}

TEST_CASE("copies: rectangles without width or height change nothing") {
  const DeviceMemory memory(1000);
  memory.fill(3);
  const PinnedMemory host(1000);
  const Stream stream;
  for (const auto& [width, height] : {std::pair{0, 10}, std::pair{10, 0}, std::pair{0, 0}}) {
    CHECK(api().hipMemcpy2DAsync(memory.at(), 100, host.data(), 100,
                                 static_cast<std::size_t>(width), static_cast<std::size_t>(height),
                                 hipMemcpyHostToDevice, stream.get()) == hipSuccess);
  }
  REQUIRE(finishes(stream.get()));
  CHECK(memory.read() == Bytes(1000, 3));
}

TEST_CASE("copies: a pitch below the width is refused") {
  // HIP names 12 (invalid pitch value) or 1 for it, CUDA's driver 1.
  const DeviceMemory memory(1000);
  const PinnedMemory host(1000);
  const Stream stream;
  CHECK(api().hipMemcpy2DAsync(memory.at(), 9, host.data(), 20, 10, 10, hipMemcpyHostToDevice,
                               stream.get()) != hipSuccess);
  CHECK(api().hipMemcpy2DAsync(memory.at(), 20, host.data(), 9, 10, 10, hipMemcpyHostToDevice,
                               stream.get()) != hipSuccess);
  CHECK(finishes(stream.get()));
}

TEST_CASE("copies: from one device to another") {
  if (lacks_second_device()) return;
  constexpr std::size_t count = 100003;
  const Bytes sent = random_bytes(count, 50);
  const DeviceMemory first(count);
  first.write(sent);
  REQUIRE(api().hipSetDevice(1) == hipSuccess);
  {
    const DeviceMemory second(count);
    const Stream stream;
    second.fill(0);
    CHECK(api().hipMemcpyPeerAsync(second.at(5), 1, first.at(5), 0, count - 5, stream.get()) ==
          hipSuccess);
    REQUIRE(finishes(stream.get()));
    CHECK(second.read(5, count - 5) == Bytes(sent.begin() + 5, sent.end()));
    const int none = under_test().device_count;
    CHECK(api().hipMemcpyPeerAsync(second.at(), none, first.at(), 0, 1, stream.get()) ==
          hipErrorInvalidDevice);
  }
  CHECK(api().hipSetDevice(0) == hipSuccess);
}

}  // namespace
}  // namespace hiptool::conformance
