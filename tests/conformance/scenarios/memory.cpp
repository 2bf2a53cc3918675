// SPDX-License-Identifier: MIT
#include <algorithm>

#include "hip/abi.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/pinned_buffer.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/tools.hpp"

namespace hiptool::scenarios {

void buffers_round_trip(const Place& place) {
  for (const std::size_t size : {1u, 255u, 4'097u, 100'003u}) {
    const Bytes around(size + 8, std::byte{0x5A});
    Buffer buffer(place.device(), around.size());
    copy_h2d_and_wait(buffer, around);
    Bytes expected = around;
    const Bytes sent = random_bytes(size, size);
    std::copy(sent.begin(), sent.end(), expected.begin() + 7);
    copy_h2d_and_wait(buffer.view(7, size), sent);
    expect_equal(read_back(buffer.view(7, size)), sent, "the bytes of a view");
    expect_equal(read_back(buffer), expected, "the bytes around a view");
  }
  expect(Buffer(place.device(), 0).address() == nullptr, "an empty buffer has an address");
}

void views_outlive_their_parent(const Place& place) {
  const Bytes sent = random_bytes(10'000, 1);
  Buffer inner;
  {
    Buffer parent(place.device(), sent.size());
    copy_h2d_and_wait(parent, sent);
    inner = parent.view(1'001, 5'000).view(99, 333);
  }
  // Takes the parent's place, had it been freed.
  Buffer other(place.device(), sent.size());
  copy_h2d_and_wait(other, Bytes(sent.size(), std::byte{0xEE}));
  expect_equal(read_back(inner), std::span(sent).subspan(1'100, 333), "a view without its parent");
}

void views_free_nothing(const Place& place) {
  const Bytes sent = random_bytes(10'000, 2);
  Buffer parent(place.device(), sent.size());
  copy_h2d_and_wait(parent, sent);
  for (std::size_t offset = 0; offset < sent.size(); offset += 1'000) {
    const Buffer view = parent.view(offset, 1'000);
    const Buffer nested = view.view(10, 20);
    expect(nested.size_bytes() == 20, "the size of a nested view");
  }
  Buffer other(place.device(), sent.size());
  copy_h2d_and_wait(other, Bytes(sent.size(), std::byte{0xEE}));
  expect_equal(read_back(parent), sent, "a parent whose views have gone");
}

void allocations_come_and_go(const Place& place) {
  for (std::size_t round = 0; round < 20 * static_cast<std::size_t>(place.rounds); ++round) {
    const Buffer buffer(place.device(), 1 + round * 4'099 % 65'536);
    expect(buffer.address() != nullptr, "an address");
  }
  // More in all than there is: what did not come back would be missing at the end. (What is free
  // cannot be compared, as other processes use the memory too.)
  const std::uint64_t piece = place.device().memory().free_bytes / 8;
  for (int round = 0; round < 12; ++round) {
    const Buffer buffer(place.device(), piece);
    expect(buffer.size_bytes() == piece, "an eighth of the memory");
  }
}

void too_much_memory(const Place& place) {
  try {
    const Buffer buffer(place.device(), std::size_t{1} << 50);
    throw ScenarioFailed("a PiB was allocated");
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory || error.operation() != "hipMalloc") throw;
  }
  const Bytes sent = random_bytes(100, 3);
  Buffer small(place.device(), sent.size());
  copy_h2d_and_wait(small, sent);
  expect_equal(read_back(small), sent, "a buffer after one that did not fit");
}

void pinned_memory(const Place& place) {
  using enum PinnedBuffer::Method;
  for (const auto method : {runtime, registered}) {
    PinnedBuffer pinned(place.device(), 20'001, method);
    PinnedBuffer back(place.device(), pinned.size_bytes(), method);
    Buffer buffer(place.device(), pinned.size_bytes());
    const Bytes sent = random_bytes(pinned.size_bytes(), 4);
    std::copy(sent.begin(), sent.end(), pinned.data());
    const Stream stream(place.device());
    const Settled settled(stream);
    copy_h2d(buffer, pinned.bytes(), stream);
    copy_d2h(back.bytes(), buffer, stream);
    stream.synchronize();
    expect_equal(back.bytes(), sent, "a way to the device and back through pinned memory");
  }
}

void registered_memory(const Place& place) {
  constexpr std::size_t page = 4'096;
  // Whole pages of its own, as a file's mapping has.
  Bytes memory(4 * page);
  auto* const start = reinterpret_cast<std::byte*>(
      (reinterpret_cast<std::uintptr_t>(memory.data()) + page - 1) / page * page);
  const std::span<std::byte> pages(start, 2 * page);
  const Bytes sent = random_bytes(pages.size(), 5);
  std::copy(sent.begin(), sent.end(), pages.begin());
  Buffer buffer(place.device(), pages.size());
  const Stream stream(place.device());
  const RegisteredMemory registered(place.device(), pages);
  const Settled settled(stream);
  copy_h2d(buffer, pages, stream);
  stream.synchronize();
  std::fill(pages.begin(), pages.end(), std::byte{0});
  copy_d2h(pages, buffer, stream);
  stream.synchronize();
  expect_equal(pages, sent, "a way to the device and back through registered memory");
}

void native_handles(const Place& place) {
  Buffer owner(place.device(), 64);
  {
    const Buffer borrowed = Buffer::borrow_native(place.device(), owner.native_handle(), 64);
    expect(borrowed.address() == owner.address(), "the address of borrowed memory");
  }
  const Bytes sent = random_bytes(64, 6);
  copy_h2d_and_wait(owner, sent);
  expect_equal(read_back(owner), sent, "memory that was borrowed for a while");

  const Stream stream(place.device());
  const StreamRef borrowed = StreamRef::borrow_native(place.device(), stream.native_handle());
  borrowed.synchronize();
  expect(borrowed.is_done(), "a borrowed stream is done");
  expect_error(ErrorCode::invalid_argument, no_native_code,
               [&] { static_cast<void>(StreamRef::borrow_native(place.device(), nullptr)); });
}

}  // namespace hiptool::scenarios
