// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "under_test.hpp"

namespace hiptool::conformance {
namespace {

using namespace hip;

constexpr std::size_t thread_count = 8;
constexpr int rounds = 10;
constexpr std::size_t thread_elements = (1 << 18) + 3;

/// One thread's round trips on a stream; the number of failures (the test's own checks belong to
/// the thread that runs it).
int round_trips(hipStream_t stream, const DeviceMemory& memory, const PinnedMemory& host,
                std::uint32_t seed) {
  int failures = 0;
  const auto expect = [&failures](bool fact) { failures += fact ? 0 : 1; };
  for (int round = 0; round < rounds; ++round) {
    const Bytes sent = random_bytes(thread_elements, seed + static_cast<std::uint32_t>(round));
    host.write(sent);
    expect(api().hipMemcpyAsync(memory.at(), host.data(), thread_elements, hipMemcpyHostToDevice,
                                stream) == hipSuccess);
    expect(api().hipMemcpyAsync(host.data() + thread_elements, memory.at(), thread_elements,
                                hipMemcpyDeviceToHost, stream) == hipSuccess);
    expect(api().hipStreamSynchronize(stream) == hipSuccess);
    expect(Bytes(host.data() + thread_elements, host.data() + 2 * thread_elements) == sent);
  }
  return failures;
}

struct Workplace {
  Stream own_stream;
  DeviceMemory memory{thread_elements};
  PinnedMemory host{2 * thread_elements};
};

TEST_CASE("threads: eight at once copy without disturbing each other") {
  std::vector<std::unique_ptr<Workplace>> places;
  for (std::size_t index = 0; index < thread_count; ++index) {
    places.push_back(std::make_unique<Workplace>());
  }
  const Stream shared_stream;
  bool shares_stream = false;
  SUBCASE("each with a stream of its own") {}
  SUBCASE("all on one stream") { shares_stream = true; }

  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (std::size_t index = 0; index < thread_count; ++index) {
    threads.emplace_back([&, index] {
      const Workplace& place = *places[index];
      const hipStream_t stream = shares_stream ? shared_stream.get() : place.own_stream.get();
      failures += round_trips(stream, place.memory, place.host,
                              static_cast<std::uint32_t>(1000 * (index + 1)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failures.load() == 0);
}

TEST_CASE("threads: objects come and go in eight at once") {
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (std::size_t index = 0; index < thread_count; ++index) {
    threads.emplace_back([&failures, index] {
      const auto expect = [&failures](hipError_t error) {
        failures += error == hipSuccess ? 0 : 1;
      };
      for (int round = 0; round < 10; ++round) {
        hipStream_t stream = nullptr;
        hipEvent_t event = nullptr;
        void* memory = nullptr;
        expect(api().hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
        expect(api().hipEventCreateWithFlags(&event, hipEventDefault));
        expect(api().hipMalloc(&memory, 1000 + 100 * index));
        expect(api().hipMemsetAsync(memory, round, 1000, stream));
        expect(api().hipEventRecord(event, stream));
        expect(api().hipEventSynchronize(event));
        expect(api().hipFree(memory));
        expect(api().hipEventDestroy(event));
        expect(api().hipStreamDestroy(stream));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failures.load() == 0);
}

}  // namespace
}  // namespace hiptool::conformance
