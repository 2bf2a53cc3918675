// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "under_test.hpp"

namespace hiptool::conformance {
namespace {

using namespace hip;

TEST_CASE("streams: an idle stream is ready") {
  for (const unsigned flags : {hipStreamDefault, hipStreamNonBlocking}) {
    const Stream stream(flags);
    CHECK(api().hipStreamQuery(stream.get()) == hipSuccess);
    CHECK(api().hipStreamSynchronize(stream.get()) == hipSuccess);
  }
}

TEST_CASE("streams: flags that do not exist and a missing result are invalid values") {
  hipStream_t stream = nullptr;
  CHECK(api().hipStreamCreateWithFlags(&stream, 0x7f) == hipErrorInvalidValue);
  CHECK(api().hipStreamCreateWithFlags(nullptr, 0) == hipErrorInvalidValue);
}

TEST_CASE("streams: the default stream cannot be destroyed") {
  CHECK(api().hipStreamDestroy(nullptr) == hipErrorInvalidHandle);
}

TEST_CASE("streams: priorities") {
  int least = -100;
  int greatest = 100;
  REQUIRE(api().hipDeviceGetStreamPriorityRange(&least, &greatest) == hipSuccess);
  CHECK(greatest <= least);  // a lower number is a higher priority
  // Out of range is brought into range, as HIP and CUDA say.
  for (const int priority : {least, greatest, least + 100, greatest - 100}) {
    hipStream_t stream = nullptr;
    REQUIRE(api().hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, priority) ==
            hipSuccess);
    CHECK(stream != nullptr);
    CHECK(api().hipStreamDestroy(stream) == hipSuccess);
  }
}

TEST_CASE("streams: live streams are different ones") {
  std::vector<hipStream_t> handles(20);
  for (hipStream_t& handle : handles) {
    REQUIRE(api().hipStreamCreateWithFlags(&handle, hipStreamNonBlocking) == hipSuccess);
  }
  std::vector<hipStream_t> sorted = handles;
  std::sort(sorted.begin(), sorted.end());
  CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
  for (const hipStream_t handle : handles) CHECK(api().hipStreamDestroy(handle) == hipSuccess);
}

struct Step {
  std::vector<int>* order;
  int index;
};

TEST_CASE("streams: host functions run in order, each once, and see the copies before them") {
  // HIP API, hipLaunchHostFunc: called once operations enqueued before it "are complete".
  constexpr int count = 100;
  std::vector<int> order;
  std::vector<Step> steps;
  for (int index = 0; index < count; ++index) steps.push_back({&order, index});
  const Stream stream;
  for (Step& step : steps) {
    REQUIRE(api().hipLaunchHostFunc(
                stream.get(),
                [](void* data) {
                  const Step& own = *static_cast<Step*>(data);
                  own.order->push_back(own.index);
                },
                &step) == hipSuccess);
  }
  REQUIRE(finishes(stream.get()));
  std::vector<int> expected(count);
  std::iota(expected.begin(), expected.end(), 0);
  CHECK(order == expected);
}

struct Seen {
  const std::uint8_t* bytes;
  std::size_t count;
  Bytes copy;
};

TEST_CASE("streams: a host function sees the copy that comes before it") {
  // HIP API, hipLaunchHostFunc: called once operations enqueued before it "are complete".
  constexpr std::size_t count = 1 << 20;
  const PinnedMemory host(count);
  const DeviceMemory memory(count);
  const Stream stream;
  const Bytes sent = random_bytes(count, 60);
  memory.write(sent);
  Seen seen{host.data(), count, {}};
  REQUIRE(api().hipMemcpyAsync(host.data(), memory.at(), count, hipMemcpyDeviceToHost,
                               stream.get()) == hipSuccess);
  REQUIRE(api().hipLaunchHostFunc(
              stream.get(),
              [](void* data) {
                Seen& own = *static_cast<Seen*>(data);
                own.copy.assign(own.bytes, own.bytes + own.count);
              },
              &seen) == hipSuccess);
  REQUIRE(finishes(stream.get()));
  CHECK(seen.copy == sent);
}

TEST_CASE("streams: a missing host function is an invalid value") {
  // HIP API, hipLaunchHostFunc lists hipErrorInvalidValue.
  const Stream stream;
  CHECK(api().hipLaunchHostFunc(stream.get(), nullptr, nullptr) == hipErrorInvalidValue);
}

}  // namespace
}  // namespace hiptool::conformance
