// SPDX-License-Identifier: MIT
#include "hiptool/stream.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <thread>
#include <utility>

#include "hip/abi.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/event.hpp"
#include "hiptool/pinned_buffer.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/tools.hpp"

namespace hiptool::scenarios {
namespace {

constexpr std::size_t size = 50'000;

}  // namespace

void an_event_orders_two_streams(const Place& place) {
  Buffer buffer(place.device(), size);
  PinnedBuffer host(place.device(), size);
  const Stream producer(place.device());
  const Stream consumer(place.device());
  Event written(place.device(), Event::Kind::ordering);
  const Settled consumer_settled(consumer);
  const Settled producer_settled(producer);
  fill(buffer, std::byte{0}, producer);
  producer.synchronize();
  Gate gate(producer);
  fill(buffer, std::byte{0x77}, producer);
  written.record(producer);
  consumer.wait(written);
  copy_d2h(host.bytes(), buffer, consumer);
  pause();
  expect(!consumer.is_done(), "the consumer waits for the producer");
  expect(!written.is_done(), "the event waits for its stream");
  gate.open();
  consumer.synchronize();
  expect_equal(host.bytes(), Bytes(size, std::byte{0x77}), "what the consumer read");
}

void other_streams_pass_a_held_one(const Place& place) {
  const Buffer buffer(place.device(), 2 * size);
  const Stream held(place.device());
  const Stream other(place.device());
  const Settled settled(held);
  Gate gate(held);
  fill(buffer.view(0, size), std::byte{1}, held);
  fill(buffer.view(size, size), std::byte{2}, other);
  other.synchronize();  // would wait for the gate's patience behind the held one
  expect(!held.is_done(), "the held stream is held");
  expect(other.is_done(), "the other stream is done");
  gate.open();
  held.synchronize();
  Bytes expected(2 * size, std::byte{2});
  std::fill_n(expected.begin(), size, std::byte{1});
  expect_equal(read_back(buffer), expected, "what both streams wrote");
}

void host_functions_in_order(const Place& place) {
  constexpr int count = 20;
  // The functions own what they use: they run even when a later call fails.
  const auto order = std::make_shared<std::vector<int>>();
  const Stream stream(place.device());
  const Settled settled(stream);
  for (int index = 0; index < count; ++index) {
    stream.launch_host_function([order, index] { order->push_back(index); });
  }
  stream.synchronize();
  std::vector<int> expected(count);
  std::iota(expected.begin(), expected.end(), 0);
  expect(*order == expected, "host functions run in order, each once");
}

void a_host_function_sees_the_copy(const Place& place) {
  const Bytes sent = random_bytes(size, 30);
  Buffer buffer(place.device(), size);
  copy_h2d_and_wait(buffer, sent);
  PinnedBuffer host(place.device(), size);
  Bytes seen;
  const Stream stream(place.device());
  const Settled settled(stream);
  copy_d2h(host.bytes(), buffer, stream);
  stream.launch_host_function([&] { seen.assign(host.bytes().begin(), host.bytes().end()); });
  stream.synchronize();
  expect_equal(seen, sent, "what a host function sees of the copy before it");
}

void priorities(const Place& place) {
  using enum Stream::Priority;
  for (const auto priority : {low, normal, high}) {
    const Bytes sent = random_bytes(1'000, 31);
    Buffer buffer(place.device(), sent.size());
    const Stream stream(place.device(), priority);
    const Settled settled(stream);
    copy_h2d(buffer, sent, stream);
    stream.synchronize();
    expect_equal(read_back(buffer), sent, "a copy on a stream of that priority");
  }
}

void event_times(const Place& place) {
  const Stream stream(place.device());
  Event start(place.device());
  Event stop(place.device());
  const auto before = std::chrono::steady_clock::now();
  start.record(stream);
  stream.launch_host_function([] { std::this_thread::sleep_for(std::chrono::milliseconds(3)); });
  stop.record(stream);
  stop.synchronize();
  const double wall_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  const double elapsed_s = stop.elapsed_s(start);
  // 0.1 ms of slack, 200 times the resolution of HIP's events, for clocks that differ.
  expect(elapsed_s >= 0.0029 && elapsed_s <= wall_s + 0.0001, "time by events fits the wall clock");
}

// 0x1 is blocking and 0x2 is without time; a mix-up of the two times where it must not.
void event_flags(const Place& place) {
  const Stream stream(place.device());
  Event start(place.device());
  Event blocking(place.device(), Event::Kind::timing, true);
  Event ordering(place.device(), Event::Kind::ordering);
  Event both(place.device(), Event::Kind::ordering, true);
  const test::Stopwatch wall;
  for (Event* event : {&start, &blocking, &ordering, &both}) event->record(stream);
  stream.synchronize();
  const double longest_s = wall.elapsed_s() + test::event_slack_s;
  const double elapsed_s = blocking.elapsed_s(start);
  expect(elapsed_s >= 0 && elapsed_s <= longest_s, "a blocking event keeps time");
  for (const Event* event : {&ordering, &both}) {
    expect_error(ErrorCode::device, hip::hipErrorInvalidHandle,
                 [&] { static_cast<void>(event->elapsed_s(start)); });
  }
}

void times_not_ready(const Place& place) {
  const Stream stream(place.device());
  Event start(place.device());
  Event stop(place.device());
  expect(stop.is_done(), "an event that was never recorded counts as done");
  stop.synchronize();
  expect_error(ErrorCode::device, hip::hipErrorInvalidHandle,
               [&] { static_cast<void>(stop.elapsed_s(start)); });
  const test::Stopwatch whole;
  start.record(stream);
  stream.synchronize();
  const test::Stopwatch held;
  const Settled settled(stream);
  Gate gate(stream);
  stop.record(stream);
  expect_error(ErrorCode::device, hip::hipErrorNotReady,
               [&] { static_cast<void>(stop.elapsed_s(start)); });
  const double shortest_s = held.elapsed_s() - test::event_slack_s;
  gate.open();
  stop.synchronize();
  const double longest_s = whole.elapsed_s() + test::event_slack_s;
  const double elapsed_s = stop.elapsed_s(start);
  expect(elapsed_s >= shortest_s && elapsed_s <= longest_s, "the time once it is there");
}

void moved_owners(const Place& place) {
  Stream stream(place.device());
  void* const handle = stream.native_handle();
  Stream moved(std::move(stream));
  Stream assigned(place.device());
  assigned = std::move(moved);
  expect(assigned.native_handle() == handle, "a moved stream is the same stream");
  const Stream adopted = Stream::take_native(place.device(), assigned.release());
  adopted.synchronize();

  Event event(place.device());
  Event taken(std::move(event));
  taken.record(adopted);
  const Event adopted_event = Event::take_native(place.device(), taken.release());
  adopted_event.synchronize();

  PinnedBuffer pinned(place.device(), 100);
  pinned.data()[17] = std::byte{17};
  PinnedBuffer moved_pinned(std::move(pinned));
  expect(moved_pinned.data()[17] == std::byte{17}, "moved pinned memory is the same memory");
}

}  // namespace hiptool::scenarios
