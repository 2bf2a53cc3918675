// SPDX-License-Identifier: MIT
#include <algorithm>
#include <exception>
#include <functional>
#include <thread>

#include "hiptool/copy.hpp"
#include "hiptool/event.hpp"
#include "hiptool/pinned_buffer.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/tools.hpp"

namespace hiptool::scenarios {
namespace {

constexpr std::size_t thread_count = 8;
constexpr std::size_t exchanged_bytes = 20'003;

/// Runs the function in eight threads and throws what one of them failed with.
void in_threads(const std::function<void(std::size_t index)>& function) {
  std::vector<std::exception_ptr> failures(thread_count);
  {
    std::vector<std::jthread> threads;
    for (std::size_t index = 0; index < thread_count; ++index) {
      threads.emplace_back([&, index] {
        try {
          function(index);
        } catch (...) {
          failures[index] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

void round_trips(const Device& device, const StreamRef& stream, std::size_t index) {
  Buffer buffer(device, exchanged_bytes);
  PinnedBuffer host(device, 2 * exchanged_bytes);
  const auto source = host.bytes().first(exchanged_bytes);
  const auto target = host.bytes().last(exchanged_bytes);
  const Settled settled(stream);
  for (std::size_t round = 0; round < 2; ++round) {
    const Bytes sent = random_bytes(exchanged_bytes, 100 * index + round);
    std::copy(sent.begin(), sent.end(), source.begin());
    copy_h2d(buffer, source, stream);
    copy_d2h(target, buffer, stream);
    stream.synchronize();
    expect_equal(target, sent, "a thread's round trip");
  }
}

}  // namespace

void threads_with_streams_of_their_own(const Place& place) {
  in_threads([&](std::size_t index) {
    const Stream stream(place.device());
    round_trips(place.device(), stream, index);
  });
}

void threads_on_one_stream(const Place& place) {
  const Stream stream(place.device());
  in_threads([&](std::size_t index) { round_trips(place.device(), stream, index); });
}

void objects_in_many_threads(const Place& place) {
  in_threads([&](std::size_t index) {
    const Device& device = place.devices[index % place.devices.size()];
    for (int round = 0; round < 2; ++round) {
      const Buffer buffer(device, 1'000 + 100 * index);
      Buffer view = buffer.view(10, 900);
      const Stream stream(device);
      Event event(device, Event::Kind::ordering);
      const Settled settled(stream);
      fill(view, std::byte{3}, stream);
      event.record(stream);
      event.synchronize();
      expect_equal(read_back(view), Bytes(900, std::byte{3}), "a thread's own buffer");
    }
  });
}

}  // namespace hiptool::scenarios
