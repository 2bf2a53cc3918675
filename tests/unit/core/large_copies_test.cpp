// SPDX-License-Identifier: MIT
/// Copies of 256 MiB at odd offsets of both sides.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "hiptool/buffer.hpp"
#include "hiptool/copy.hpp"
#include "support.hpp"

using namespace hiptool;

TEST_CASE("256 MiB come back from odd offsets, with nothing else changed") {
  Platforms platforms;
  const Device device = test::device(platforms);
  constexpr std::size_t size = std::size_t{test::is_sanitized ? 16 : 256} << 20;
  constexpr std::size_t padding = 8192;
  std::vector<std::uint64_t> words((size + padding) / sizeof(std::uint64_t));
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = (i + 1) * 0x9E3779B97F4A7C15u;
  const std::span all(reinterpret_cast<const std::byte*>(words.data()), size + padding);
  Buffer buffer(device, size + padding);
  const Stream stream(device);
  std::vector<std::byte> back(size + padding);
  for (const auto& offsets : {std::pair<std::size_t, std::size_t>{0, 1}, {7, 4097}, {4095, 3}}) {
    const std::size_t on_host = offsets.first;
    const std::size_t on_device = offsets.second;
    CAPTURE(on_host);
    CAPTURE(on_device);
    fill(buffer, std::byte{0xA5}, stream);
    stream.synchronize();
    copy_h2d_and_wait(buffer.view(on_device, size), all.subspan(on_host, size));
    std::fill(back.begin(), back.end(), std::byte{0});
    copy_d2h_and_wait(std::span(back).subspan(on_host, size), buffer.view(on_device, size));
    CHECK(std::memcmp(back.data() + on_host, all.data() + on_host, size) == 0);
    // The bytes around the destinations.
    CHECK((on_host == 0 || back[on_host - 1] == std::byte{0}));
    CHECK(back[on_host + size] == std::byte{0});
    std::byte around[2];
    copy_d2h_and_wait(std::span(around, 1), buffer.view(on_device - 1, 1));
    copy_d2h_and_wait(std::span(around + 1, 1), buffer.view(on_device + size, 1));
    CHECK(around[0] == std::byte{0xA5});
    CHECK(around[1] == std::byte{0xA5});
  }
}
