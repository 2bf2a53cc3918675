// SPDX-License-Identifier: MIT
#include "measure/copy/device_tools.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "devices.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"

using namespace hiptool;
using namespace hiptool::measure;

namespace {

// More than the host stages at once.
constexpr std::size_t many_words = (std::size_t{4} << 20) + 1000;

std::vector<std::uint32_t> words_of(const Buffer& buffer) {
  std::vector<std::uint32_t> words(buffer.size_bytes() / 4);
  copy_d2h_and_wait(std::as_writable_bytes(std::span(words)), buffer);
  return words;
}

void flip(const Buffer& buffer, std::size_t index, std::uint32_t bits) {
  Buffer word = buffer.view(index * 4, 4);
  std::uint32_t value = words_of(word).front() ^ bits;
  copy_h2d_and_wait(word, std::as_bytes(std::span(&value, 1)));
}

}  // namespace

TEST_CASE(
    "device tools: by kernel and by the host alike, data is written and its faults are found") {
  for (const Platform platform : {Platform::cpu, Platform::nvidia}) {
    CAPTURE(to_string(platform));
    test::CpuDevices devices(1, platform);
    DeviceTools tools(devices[0]);
    const bool has_kernels = platform == Platform::cpu;
    const std::uint64_t launches = devices.table().count("hipModuleLaunchKernel");
    const Buffer buffer(devices[0], many_words * 4);
    tools.write(buffer, 11);
    std::vector<std::uint32_t> expected(many_words);
    write_pattern(expected, 11);
    CHECK(words_of(buffer) == expected);
    CHECK(tools.check(buffer, 11).count == 0);
    CHECK(tools.check(buffer, 12).count == many_words);
    flip(buffer, many_words - 1, 0x40);
    WrongWords wrong = tools.check(buffer, 11);
    CHECK(wrong.count == 1);
    CHECK(wrong.first_index == many_words - 1);
    flip(buffer, 7, 0x100);
    wrong = tools.check(buffer, 11);
    CHECK(wrong.count == 2);
    CHECK(wrong.first_index == 7);
    CHECK(wrong.xor_bits == 0x140);
    CHECK((devices.table().count("hipModuleLaunchKernel") > launches) == has_kernels);
  }
}

TEST_CASE("device tools: a copy by kernel takes any size and address") {
  const test::CpuDevices devices(1);
  const DeviceTools tools(devices[0]);
  tools.require_copy();
  const Stream stream(devices[0]);
  std::vector<std::byte> from(200, std::byte{7});
  for (const std::size_t offset : {0u, 1u, 4u}) {
    for (const std::size_t size : {4u, 16u, 100u}) {
      std::vector<std::byte> to(200);
      tools.copy(to.data() + offset, from.data() + 16, size, stream);
      stream.synchronize();
      CHECK(std::count(to.begin(), to.end(), std::byte{7}) == static_cast<std::ptrdiff_t>(size));
      CHECK(to[offset] == std::byte{7});
      CHECK(to[offset + size - 1] == std::byte{7});
    }
  }
}

TEST_CASE("device tools: what is missing is said") {
  const test::CpuDevices gpus(1, Platform::nvidia);
  const DeviceTools tools(gpus[0]);
  CHECK_FALSE(tools.gate());
  CHECK_THROWS_AS(tools.require_copy(), Error);
}

TEST_CASE("tool box: a device's tools are made once, and again after a failure") {
  test::CpuDevices devices(2);
  ToolBox box;
  devices.table().fail("hipStreamCreateWithFlags", hip::hipErrorUnknown);
  CHECK_THROWS_AS(box.of(devices[0]), Error);
  DeviceTools& tools = box.of(devices[0]);
  CHECK(&box.of(devices[0]) == &tools);
  CHECK(&box.of(devices[1]) != &tools);
}
