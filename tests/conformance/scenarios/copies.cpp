// SPDX-License-Identifier: MIT
#include "hiptool/copy.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "hiptool/pinned_buffer.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/tools.hpp"

namespace hiptool::scenarios {

void copies_in_order(const Place& place) {
  constexpr std::size_t size = 200'000;
  Buffer first(place.device(), size);
  Buffer second(place.device(), size);
  PinnedBuffer host(place.device(), 2 * size);
  const auto source = host.bytes().first(size);
  const auto target = host.bytes().last(size);
  const Stream stream(place.device());
  const Settled settled(stream);
  for (int round = 0; round < 3; ++round) {
    const Bytes sent = random_bytes(size, 20 + static_cast<std::uint64_t>(round));
    std::copy(sent.begin(), sent.end(), source.begin());
    copy_h2d(first, source, stream);
    copy_d2d(second, first, stream);
    fill(first, std::byte{0}, stream);
    copy_d2h(target, second, stream);
    stream.synchronize();
    expect_equal(target, sent, "three copies in a row");
  }
}

void copies_within_a_device(const Place& place) {
  const Bytes sent = random_bytes(5'000, 7);
  Buffer source(place.device(), sent.size());
  Buffer target(place.device(), sent.size());
  copy_h2d_and_wait(source, sent);
  const Stream stream(place.device());
  copy_d2d(target, source, stream);
  copy_d2d(target.view(0, 100), source.view(100, 100), stream);
  copy_d2d(source.view(0, 100), source.view(100, 100), stream);  // touches, does not overlap
  stream.synchronize();
  Bytes expected = sent;
  std::copy_n(sent.begin() + 100, 100, expected.begin());
  expect_equal(read_back(target), expected, "a copy and a part of it");
  expect_equal(read_back(source), expected, "a copy within a buffer");
}

void rectangles(const Place& place) {
  constexpr std::size_t size = 5'000;
  constexpr std::size_t width = 37;
  constexpr std::size_t height = 11;
  constexpr Rectangle from{13, 101};
  constexpr Rectangle to{5, 64};
  const Bytes sent = random_bytes(size, 8);
  Bytes expected = random_bytes(size, 9);
  Buffer source(place.device(), size);
  Buffer target(place.device(), size);
  copy_h2d_and_wait(source, sent);
  copy_h2d_and_wait(target, expected);
  const Stream stream(place.device());
  copy_d2d_2d(target, to, source, from, width, height, stream);
  copy_d2d_2d(target, {size, 0}, source, {size, 0}, 0, height, stream);
  copy_d2d_2d(target, {0, width}, source, {0, width}, width, 0, stream);
  stream.synchronize();
  for (std::size_t row = 0; row < height; ++row) {
    std::memcpy(&expected[to.offset_bytes + row * to.pitch_bytes],
                &sent[from.offset_bytes + row * from.pitch_bytes], width);
  }
  expect_equal(read_back(target), expected, "a rectangle among other bytes");
}

void fills(const Place& place) {
  const Bytes sent = random_bytes(3'000, 10);
  Buffer buffer(place.device(), sent.size());
  copy_h2d_and_wait(buffer, sent);
  const Stream stream(place.device());
  fill(buffer.view(1'001, 500), std::byte{0xAB}, stream);
  fill(buffer.view(1'101, 3), std::byte{0}, stream);
  fill(buffer.view(0, 0), std::byte{1}, stream);
  stream.synchronize();
  Bytes expected = sent;
  std::fill_n(expected.begin() + 1'001, 500, std::byte{0xAB});
  std::fill_n(expected.begin() + 1'101, 3, std::byte{0});
  expect_equal(read_back(buffer), expected, "a fill in the middle");
}

void bounds_are_kept(const Place& place) {
  Buffer a(place.device(), 1'000);
  const Buffer b(place.device(), 1'000);
  const Stream stream(place.device());
  Bytes host(1'001);
  const auto refused = [](ErrorCode code, const std::function<void()>& function) {
    expect_error(code, no_native_code, function);
  };
  constexpr auto huge = std::numeric_limits<std::size_t>::max();
  refused(ErrorCode::out_of_bounds, [&] { static_cast<void>(a.view(1'001, 0)); });
  refused(ErrorCode::out_of_bounds, [&] { static_cast<void>(a.view(2, huge)); });
  refused(ErrorCode::out_of_bounds, [&] { copy_h2d(a, host, stream); });
  refused(ErrorCode::out_of_bounds, [&] { copy_d2h(host, a, stream); });
  refused(ErrorCode::out_of_bounds, [&] { copy_d2d(a, b.view(0, 999), stream); });
  refused(ErrorCode::invalid_argument, [&] { copy_d2d(a.view(0, 100), a.view(99, 100), stream); });
  refused(ErrorCode::invalid_argument, [&] { copy_d2d_2d(a, {0, 9}, b, {0, 10}, 10, 2, stream); });
  refused(ErrorCode::out_of_bounds, [&] {
    copy_d2d_2d(a, {1, 100}, b, {0, 100}, 100, 10, stream);
  });
  stream.synchronize();
}

}  // namespace hiptool::scenarios
